use switchcost_record::{Check, Severity};

/// Remedies for a condition: one until the next boot, and a permanent one. Either may be empty.
pub(super) struct Remedy {
    now: String,
    lasting: String,
}

impl Remedy {
    /// Creates an empty remedy, for a condition that cannot be changed from this machine.
    pub(super) fn none() -> Self {
        Remedy {
            now: String::new(),
            lasting: String::new(),
        }
    }

    /// Creates a remedy of two commands or settings: a temporary and a permanent one.
    pub(super) fn new(now: impl Into<String>, lasting: impl Into<String>) -> Self {
        Remedy {
            now: now.into(),
            lasting: lasting.into(),
        }
    }

    /// Creates a remedy that sets a kernel parameter: with `sysctl -w` until the next boot, with a
    /// file in `sysctl.d` permanently.
    pub(super) fn sysctl(setting: &str) -> Self {
        let lasting = format!("echo '{setting}' | sudo tee -a /etc/sysctl.d/90-switchcost.conf");
        Remedy::new(format!("sudo sysctl -w {setting}"), lasting)
    }
}

/// A check that has not been judged yet: the name of a condition, and the state wanted.
pub(super) struct Line {
    name: &'static str,
    wanted: &'static str,
}

impl Line {
    /// Creates a check of the condition `name`, whose wanted state is `wanted`.
    pub(super) fn new(name: &'static str, wanted: &'static str) -> Self {
        Line { name, wanted }
    }

    /// Judges the condition as fit. `found` is the state found.
    pub(super) fn fit(self, found: impl Into<String>) -> Check {
        self.judged(Severity::Fit, found.into(), Remedy::none())
    }

    /// Judges the condition as a caveat: measurements are possible. `found` is the state found.
    pub(super) fn caveat(self, found: impl Into<String>, remedy: Remedy) -> Check {
        self.judged(Severity::Caveat, found.into(), remedy)
    }

    /// Judges the condition as unfit: measurements are meaningless. `found` is the state found.
    pub(super) fn unfit(self, found: impl Into<String>, remedy: Remedy) -> Check {
        self.judged(Severity::Unfit, found.into(), remedy)
    }

    fn judged(self, severity: Severity, found: String, remedy: Remedy) -> Check {
        Check {
            name: self.name.to_owned(),
            found,
            wanted: self.wanted.to_owned(),
            severity,
            fix: remedy.now,
            lasting_fix: remedy.lasting,
        }
    }
}
