use switchcost_record::{Check, Severity};

/// Remedies for a condition: one that lasts until the next boot, and a permanent one.
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

    /// Creates a remedy that sets a kernel parameter: `sysctl -w` temporarily, a file in `sysctl.d`
    /// permanently.
    pub(super) fn sysctl(setting: &str) -> Self {
        let lasting = format!("echo '{setting}' | sudo tee -a /etc/sysctl.d/90-switchcost.conf");
        Remedy::new(format!("sudo sysctl -w {setting}"), lasting)
    }
}

/// A line of the check-up that has not been judged yet.
pub(super) struct Line {
    name: &'static str,
    wanted: &'static str,
}

impl Line {
    /// Creates a line named `name` for a condition whose desired state is `wanted`.
    pub(super) fn new(name: &'static str, wanted: &'static str) -> Self {
        Line { name, wanted }
    }

    /// Judges the line as fit.
    pub(super) fn fit(self, found: impl Into<String>) -> Check {
        self.judged(Severity::Fit, found.into(), Remedy::none())
    }

    /// Judges the condition as a caveat: the machine can be measured.
    pub(super) fn caveat(self, found: impl Into<String>, remedy: Remedy) -> Check {
        self.judged(Severity::Caveat, found.into(), remedy)
    }

    /// Judges the condition as unfit: the machine cannot be measured.
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
