//! Features of the kernel's scheduler that affect switches. Each feature is read from the kernel's
//! files, not inferred from the kernel's version. The caller makes the system calls.

use switchcost_record::{Fact, Scheduler};

use super::Root;
use super::kernel::{MODELS, has_option, option};

/// Directory of the scheduler's settings in debugfs.
const SETTINGS: &str = "/sys/kernel/debug/sched";

/// File in debugfs with the counts of extended time slices. The kernel has this file if it was
/// built with CONFIG_RSEQ_STATS.
const RSEQ_STATISTICS: &str = "/sys/kernel/debug/rseq/stats";

pub(super) fn scheduler(
    root: &Root,
    config: &Result<String, String>,
    slice_extension: Fact<bool>,
) -> Scheduler {
    Scheduler {
        preemption_models: preemption_models(root, config),
        slice_extension,
        is_cache_aware: is_cache_aware(root, config),
    }
}

/// Returns the preemption models that the kernel offers, as listed in debugfs (`none voluntary full
/// (lazy)`), or else those in the build configuration.
fn preemption_models(root: &Root, config: &Result<String, String>) -> Fact<Vec<String>> {
    if let Ok(text) = root.line(&format!("{SETTINGS}/preempt")) {
        let models = text
            .split_ascii_whitespace()
            .map(|model| model.trim_matches(['(', ')']).to_owned());
        return Fact::Known(models.collect());
    }
    let version = root.line("/proc/sys/kernel/version").unwrap_or_default();
    if !version
        .split_ascii_whitespace()
        .any(|word| word == "PREEMPT_DYNAMIC")
    {
        return Fact::unknown("not dynamic: the one that it was built with");
    }
    match config {
        Ok(config) => {
            let offered = MODELS
                .into_iter()
                .filter(|(name, _)| has_option(config, name));
            Fact::Known(offered.map(|(_, model)| model.to_owned()).collect())
        }
        Err(why) => Fact::unknown(why.clone()),
    }
}

fn is_cache_aware(root: &Root, config: &Result<String, String>) -> Fact<bool> {
    // If the setting has several choices, the active one is in brackets.
    if let Ok(setting) = root.line(&format!("{SETTINGS}/llc_balancing/enabled")) {
        let choice = super::kernel::bracketed(&setting).unwrap_or(&setting);
        return Fact::Known(!["0", "N", "never"].contains(&choice));
    }
    match config {
        Ok(config) if option(config, "CONFIG_SCHED_CACHE") != Some("y") => Fact::Known(false),
        Ok(_) => Fact::unknown("built in, and debugfs does not show whether it is switched on"),
        Err(why) => Fact::unknown(why.clone()),
    }
}

/// Returns two counts of this machine since boot: time slices that were extended, and extensions
/// that the task ended in time. `None` if the kernel does not count extensions.
pub fn slice_extensions(root: &Root) -> Option<(u64, u64)> {
    let text = root.read(RSEQ_STATISTICS).ok()?;
    let count = |name: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
    };
    Some((count("sgrant:")?, count("syield:")?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    fn unread() -> Result<String, String> {
        Err("no configuration".to_owned())
    }

    fn models(fixture: &Fixture, config: &Result<String, String>) -> Fact<Vec<String>> {
        preemption_models(&fixture.root(), config)
    }

    #[test]
    fn the_models_are_those_that_the_kernel_offers() {
        let known =
            |models: &[&str]| Fact::Known(models.iter().map(|&model| model.to_owned()).collect());
        let of_7_0 = Fixture::new().file("/sys/kernel/debug/sched/preempt", "full (lazy)\n");
        assert_eq!(models(&of_7_0, &unread()), known(&["full", "lazy"]));
        let dynamic = Fixture::new().file("/proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC");
        let config = "CONFIG_PREEMPT_NONE=y\n# CONFIG_PREEMPT is not set\n# CONFIG_PREEMPT_LAZY is not set\n";
        let built = Ok(config.to_owned());
        assert_eq!(models(&dynamic, &built), known(&["none", "lazy", "full"]));
        assert_eq!(
            models(&dynamic, &unread()),
            Fact::unknown("no configuration")
        );
        assert!(models(&Fixture::new(), &built).known().is_none());
    }

    #[test]
    fn cache_awareness_is_a_setting_or_not_there() {
        let set = |text: &str| {
            let fixture =
                Fixture::new().file("/sys/kernel/debug/sched/llc_balancing/enabled", text);
            is_cache_aware(&fixture.root(), &unread())
        };
        assert_eq!(
            ["1\n", "Y\n", "always [advise] never\n"].map(set),
            [true, true, true].map(Fact::Known)
        );
        assert_eq!(
            ["0\n", "N\n", "always advise [never]\n"].map(set),
            [false, false, false].map(Fact::Known)
        );
        let built = |config: &str| is_cache_aware(&Fixture::new().root(), &Ok(config.to_owned()));
        assert_eq!(built("CONFIG_SMP=y\n"), Fact::Known(false));
        assert!(built("CONFIG_SCHED_CACHE=y\n").known().is_none());
    }

    #[test]
    fn extended_slices_are_counted_where_the_kernel_does() {
        let text = "exit:                 12\nsgrant:                9\nsexpir:                1\nsyield:                7\n";
        let fixture = Fixture::new().file(RSEQ_STATISTICS, text);
        assert_eq!(slice_extensions(&fixture.root()), Some((9, 7)));
        assert_eq!(slice_extensions(&Fixture::new().root()), None);
    }
}
