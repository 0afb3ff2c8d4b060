"""The same measurement on many hosts: which of them differ, and by which fact, by a folder of records, however gathered."""

from __future__ import annotations

from .fleet import Fleet, gather
from .plan import Plan

__all__ = ["Fleet", "Plan", "gather"]
