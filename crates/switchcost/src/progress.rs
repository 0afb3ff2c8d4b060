//! How far a run is, on stderr, where that is a terminal.

use indicatif::{ProgressBar, ProgressStyle};
use measure::Progress;
use record::{Case, Plan};

/// A bar over the run's time. Drawn between repetitions by the calling thread: a thread that ticks would be foreign
/// time on a small machine.
pub(crate) struct Bar {
    bar: ProgressBar,
    cases: Vec<String>,
}

impl Bar {
    /// Hidden by indicatif where stderr is no terminal.
    pub(crate) fn over(plan: &Plan) -> Bar {
        let bar = ProgressBar::new(plan.budget_ns.0 / 1_000_000);
        let style = ProgressStyle::with_template("{bar:30} {elapsed} of at most {prefix}  {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_prefix(format!("{} s", plan.budget_ns.0 / 1_000_000_000));
        Bar { bar, cases: plan.cases.iter().map(title).collect() }
    }

    pub(crate) fn say(&self, what: &str) {
        self.bar.set_message(what.to_owned());
        self.bar.tick();
    }

    pub(crate) fn show(&self, progress: Progress) {
        self.bar.set_position(progress.elapsed.0 / 1_000_000);
        let case = &self.cases[progress.case];
        self.bar.set_message(format!("{} of {} precise enough; now {case}", progress.finished, self.cases.len()));
    }

    pub(crate) fn finish(self) {
        self.bar.finish_and_clear();
    }
}

fn title(case: &Case) -> String {
    let set = &case.working_set;
    if set.is_empty() {
        format!("{} ({})", case.mechanism, case.between)
    } else {
        format!("{} ({}), {} {} stride {}", case.mechanism, case.between, set.size_bytes, set.access, set.stride_bytes)
    }
}
