"""What a context switch costs: direct and indirect, with error bars, and why."""
