//! Checks whether the CPU keeps its clock frequency during a measurement.

use switchcost_record::{Check, Fact};

use super::line::{Line, Remedy};
use super::subject::Subject;
use super::words::NO_TURBO_SWITCH;

/// Checks whether the CPU's frequency governor is `performance`.
pub(super) fn governor(subject: &Subject) -> Check {
    let line = Line::new("governor", "performance");
    match &subject.host.governor {
        Fact::Known(name) if name == "performance" => line.fit(name.as_str()),
        Fact::Known(name) => line.caveat(name.as_str(), perform()),
        Fact::Unknown { unknown } => line.caveat(unknown.as_str(), Remedy::none()),
    }
}

fn perform() -> Remedy {
    let now = "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor";
    Remedy::new(
        now,
        "kernel command line: cpufreq.default_governor=performance",
    )
}

/// Files that control turbo frequencies, each with the text that turns turbo off.
const SWITCHES: [(&str, &str); 3] = [
    ("/sys/devices/system/cpu/intel_pstate/no_turbo", "1"),
    ("/sys/devices/system/cpu/cpufreq/boost", "0"),
    ("/sys/devices/system/cpu/cpu0/cpufreq/boost", "0"),
];

/// Checks whether turbo is on, which makes the frequency depend on temperature and load.
pub(super) fn turbo(subject: &Subject) -> Check {
    let line = Line::new(
        "turbo",
        "off, so that the frequency does not depend on temperature and other cores",
    );
    let switches = SWITCHES
        .iter()
        .filter_map(|(file, off)| Some((file, off, subject.root.line(file).ok()?)));
    match switches.map(|(file, off, text)| (*file, *off, text)).next() {
        Some((_, off, text)) if text == off => line.fit("off"),
        Some((file, off, text)) => {
            line.caveat(format!("on ({file} is {text})"), turn_off(file, off))
        }
        None => line.caveat(NO_TURBO_SWITCH, Remedy::none()),
    }
}

fn turn_off(file: &str, off: &str) -> Remedy {
    let rule =
        format!("echo 'w {file} - - - - {off}' | sudo tee /etc/tmpfiles.d/switchcost-turbo.conf");
    Remedy::new(format!("echo {off} | sudo tee {file}"), rule)
}

#[cfg(test)]
mod tests {
    use switchcost_record::Severity;

    use super::*;
    use crate::testing::said;
    use switchcost_facts::fixture::Fixture;

    #[test]
    fn another_governor_is_a_caveat_with_its_remedy() {
        assert_eq!(governor(&Subject::workstation()).severity, Severity::Fit);
        let saving = Fixture::workstation().file(
            "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
            "powersave\n",
        );
        let check = governor(&Subject::scripted(&saving));
        assert_eq!(said(&check), (Severity::Caveat, "powersave"));
        assert_eq!(
            check.fix,
            "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor"
        );
        assert_eq!(
            check.lasting_fix,
            "kernel command line: cpufreq.default_governor=performance"
        );
    }

    #[test]
    fn turbo_is_off_on_or_hidden() {
        assert_eq!(turbo(&Subject::workstation()).found, "off");
        let hidden = Fixture::workstation().remove("/sys/devices/system/cpu/intel_pstate");
        assert_eq!(
            turbo(&Subject::scripted(&hidden)).severity,
            Severity::Caveat
        );
        let boosted = hidden.file("/sys/devices/system/cpu/cpufreq/boost", "1\n");
        let check = turbo(&Subject::scripted(&boosted));
        assert_eq!(
            check.found,
            "on (/sys/devices/system/cpu/cpufreq/boost is 1)"
        );
        assert_eq!(
            check.fix,
            "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost"
        );
    }
}
