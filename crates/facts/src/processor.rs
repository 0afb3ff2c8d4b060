//! The CPU model, its features, and the kernel's mitigations of its vulnerabilities.

use std::collections::BTreeMap;

use switchcost_record::Fact;
use switchcost_units::CpuId;

use super::{Root, arm_core, status};

/// Text of `/proc/cpuinfo`. The first CPU in the text stands for all CPUs.
pub(crate) struct Processor {
    text: String,
}

impl Processor {
    pub(crate) fn read(root: &Root) -> Self {
        Processor {
            text: root.read("/proc/cpuinfo").unwrap_or_default(),
        }
    }

    /// Returns the name of the CPU model, or the names of the core types on Arm, where the kernel
    /// reports only numbers.
    pub(crate) fn model(&self) -> Fact<String> {
        let name = status::field_of(&self.text, "model name").filter(|name| !name.is_empty());
        name.or_else(|| arm_core::kinds(&self.text)).map_or_else(
            || Fact::unknown("/proc/cpuinfo names no model"),
            Fact::Known,
        )
    }

    /// Returns the revision of the CPU's microcode; `None` if the kernel does not report it. In a
    /// guest, the hypervisor chooses this number freely.
    pub(crate) fn microcode(&self) -> Option<String> {
        status::field_of(&self.text, "microcode").filter(|revision| !revision.is_empty())
    }

    /// Whether the kernel lists the CPU flag `flag`; `None` if the kernel lists no flags, as
    /// outside x86.
    pub(crate) fn has(&self, flag: &str) -> Option<bool> {
        let flags = status::field_of(&self.text, "flags")?;
        Some(flags.split_ascii_whitespace().any(|found| found == flag))
    }

    /// Whether the CPU's time stamp counter runs at a constant rate in all power states. On Arm the
    /// architecture guarantees a constant rate.
    pub(crate) fn is_tsc_invariant(&self) -> bool {
        match cfg!(target_arch = "aarch64") {
            true => true,
            false => ["constant_tsc", "nonstop_tsc"]
                .iter()
                .all(|flag| self.has(flag) == Some(true)),
        }
    }

    /// Returns the sustained and the highest clock rate of `cpu` in kHz, from the frequency driver,
    /// or else from `/proc/cpuinfo`. `None` in a guest without a frequency driver, because a guest
    /// cannot see the rate.
    pub(crate) fn core_khz(&self, root: &Root, cpu: CpuId) -> Option<[u64; 2]> {
        let folder = format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq");
        let file = |name: &str| {
            root.line(&format!("{folder}/{name}"))
                .ok()?
                .parse::<u64>()
                .ok()
                .filter(|khz| *khz > 0)
        };
        // In a guest, `cpu MHz` is the rate of the time stamp counter.
        let now = || {
            let mhz = status::field_of(&self.text, "cpu MHz")?;
            khz_of(&mhz).filter(|_| self.has("hypervisor") != Some(true))
        };
        let highest = file("cpuinfo_max_freq").or_else(now)?;
        let sustained = file("base_frequency").unwrap_or(highest).min(highest);
        Some([sustained, highest])
    }

    /// Whether TLB entries are tagged by address space (PCID on x86). On Arm the architecture
    /// guarantees tags.
    pub(crate) fn has_pcid(&self) -> Fact<bool> {
        match (cfg!(target_arch = "aarch64"), self.has("pcid")) {
            (true, _) => Fact::Known(true),
            (false, Some(has)) => Fact::Known(has),
            (false, None) => Fact::unknown("/proc/cpuinfo lists no flags"),
        }
    }

    /// Whether page-table isolation (KPTI) is active, by which the kernel's page tables are
    /// separate from those of user space.
    pub(crate) fn is_kpti_active(&self, mitigations: &BTreeMap<String, String>) -> Fact<bool> {
        match (
            mitigations.get("meltdown").map(String::as_str),
            self.has("pti"),
        ) {
            (Some(text), _) if text.starts_with("Mitigation: PTI") => Fact::Known(true),
            (_, Some(true)) => Fact::Known(true),
            (Some(text), _)
                if text.starts_with("Not affected") || text.starts_with("Vulnerable") =>
            {
                Fact::Known(false)
            }
            (Some(text), _) => Fact::unknown(format!("vulnerabilities/meltdown says: {text}")),
            (None, _) => Fact::unknown("the kernel has no vulnerabilities/meltdown"),
        }
    }
}

/// Returns the kernel's report on each CPU vulnerability, by name.
pub(crate) fn mitigations(root: &Root) -> BTreeMap<String, String> {
    let folder = "/sys/devices/system/cpu/vulnerabilities";
    let names = root.names(folder).into_iter();
    names
        .filter_map(|name| {
            root.line(&format!("{folder}/{name}"))
                .ok()
                .map(|text| (name, text))
        })
        .collect()
}

/// Whether simultaneous multithreading (SMT) is active. A guest may read `off` although its host
/// uses SMT.
pub(crate) fn is_smt_active(root: &Root) -> Fact<bool> {
    match root.line("/sys/devices/system/cpu/smt/active") {
        Ok(text) if text == "1" => Fact::Known(true),
        Ok(text) if text == "0" => Fact::Known(false),
        Ok(text) => Fact::unknown(format!("smt/active says: {text}")),
        Err(error) => Fact::unknown(error.to_string()),
    }
}

/// Returns the name of the frequency governor of `cpu`.
pub(crate) fn governor(root: &Root, cpu: CpuId) -> Fact<String> {
    let governor = root.line(&format!(
        "/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor"
    ));
    let unknown = |_| {
        Fact::unknown("the kernel has no cpufreq here: firmware or hypervisor sets the frequency")
    };
    governor.map_or_else(unknown, Fact::Known)
}

/// Whether cores may run faster than their base clock rate; `None` if no frequency driver reports
/// this setting.
pub(crate) fn is_turbo_on(root: &Root) -> Option<bool> {
    let cpu = "/sys/devices/system/cpu";
    let is_one = |path: String| {
        root.line(&path).ok().and_then(|line| match line.as_str() {
            "0" => Some(false),
            "1" => Some(true),
            _ => None,
        })
    };
    is_one(format!("{cpu}/cpufreq/boost"))
        .or_else(|| is_one(format!("{cpu}/intel_pstate/no_turbo")).map(|off| !off))
}

/// Parses a number of megahertz, such as `2596.136`, as whole kilohertz; `None` for 0 or an invalid
/// number.
fn khz_of(mhz: &str) -> Option<u64> {
    let (whole, rest) = mhz.trim().split_once('.').unwrap_or((mhz.trim(), ""));
    let thousandths: String = rest.chars().chain("000".chars()).take(3).collect();
    let khz = whole
        .parse::<u64>()
        .ok()?
        .checked_mul(1000)?
        .checked_add(thousandths.parse().ok()?)?;
    (khz > 0).then_some(khz)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;
    use crate::tests::known;

    fn processor(text: &str) -> Processor {
        Processor::read(&Fixture::new().file("/proc/cpuinfo", text).root())
    }

    #[test]
    fn the_microcode_is_as_the_kernel_writes_it_or_not_there() {
        assert_eq!(
            processor("microcode\t: 0xa0011d1\n").microcode(),
            Some("0xa0011d1".to_owned())
        );
        assert_eq!(processor("model name : x\n").microcode(), None);
        assert_eq!(processor("microcode\t:\n").microcode(), None);
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn flags_are_whole_words() {
        let found = processor("flags : constant_tsc nonstop_tsc_s3 invpcid\n");
        assert!(!found.is_tsc_invariant());
        assert_eq!(found.has_pcid(), Fact::Known(false));
        assert!(processor("flags : constant_tsc nonstop_tsc pcid").is_tsc_invariant());
        assert_eq!(
            processor("").has_pcid(),
            Fact::unknown("/proc/cpuinfo lists no flags")
        );
    }

    #[test]
    fn page_table_isolation_is_read_from_file_and_flag() {
        let plain = processor("flags : fpu\n");
        let odd = "vulnerabilities/meltdown says: Unknown (XEN PV detected)";
        for (text, expected) in [
            ("Mitigation: PTI", Fact::Known(true)),
            ("Not affected", Fact::Known(false)),
            ("Vulnerable", Fact::Known(false)),
            ("Unknown (XEN PV detected)", Fact::unknown(odd)),
        ] {
            let meltdown = BTreeMap::from([("meltdown".to_owned(), text.to_owned())]);
            assert_eq!(plain.is_kpti_active(&meltdown), expected);
        }
        let by_flag = processor("flags : pti").is_kpti_active(&BTreeMap::new());
        assert_eq!(by_flag, Fact::Known(true));
    }

    #[test]
    fn a_model_is_named_or_numbered() {
        for (text, expected) in [
            ("model name : X <b>\n", known("X <b>")),
            ("CPU part : 0xd0c\n", known("part 0xd0c")),
            ("", Fact::unknown("/proc/cpuinfo names no model")),
        ] {
            assert_eq!(processor(text).model(), expected);
        }
    }

    #[test]
    fn threads_and_governor_say_why_they_are_unknown() {
        let fixture = Fixture::new().file("/sys/devices/system/cpu/smt/active", "maybe\n");
        assert_eq!(
            is_smt_active(&fixture.root()),
            Fact::unknown("smt/active says: maybe")
        );
        assert!(governor(&fixture.root(), CpuId(0)).known().is_none());
        assert_eq!(
            is_smt_active(&Fixture::workstation().root()),
            Fact::Known(false)
        );
        let folder = "/sys/devices/system/cpu";
        let of = |file: &str, text: &str| {
            is_turbo_on(
                &Fixture::new()
                    .file(&format!("{folder}/{file}"), text)
                    .root(),
            )
        };
        for (file, text, expected) in [
            ("cpufreq/boost", "1\n", Some(true)),
            ("cpufreq/boost", "0\n", Some(false)),
            ("intel_pstate/no_turbo", "1\n", Some(false)),
            ("intel_pstate/no_turbo", "?\n", None),
        ] {
            assert_eq!(of(file, text), expected, "{file} {text}");
        }
        let governor = governor(&Fixture::workstation().root(), CpuId(0));
        assert_eq!(governor, known("performance"));
    }

    #[test]
    fn a_core_has_the_clock_that_frequency_scaling_shows_or_the_rate_now() {
        let khz = |text, fixture: &Fixture| processor(text).core_khz(&fixture.root(), CpuId(0));
        let folder = "/sys/devices/system/cpu/cpu0/cpufreq";
        let none = Fixture::new();
        for (text, expected) in [
            ("cpu MHz : 2596.136", Some([2_596_136; 2])),
            ("cpu MHz : 0.000", None),
            ("", None),
            ("flags : tsc hypervisor\ncpu MHz : 2596.136", None),
        ] {
            assert_eq!(khz(text, &none), expected, "{text}");
        }
        let scaled = none.file(&format!("{folder}/cpuinfo_max_freq"), "3700000\n");
        assert_eq!(khz("cpu MHz : 800.0", &scaled), Some([3_700_000; 2]));
        let base = scaled.file(&format!("{folder}/base_frequency"), "2400000\n");
        assert_eq!(khz("", &base), Some([2_400_000, 3_700_000]));
    }
}
