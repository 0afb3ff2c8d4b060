//! Facts about the kernel: its version, build and settings.

use std::io::Read;

use switchcost_record::Fact;
use switchcost_units::Bytes;

use super::{Root, status};

/// Largest size of the kernel's unpacked build configuration that is read, in bytes. Typical sizes
/// are about 300 KiB.
const LARGEST_CONFIG: u64 = 4 << 20;

/// Returns the kernel's release and version: `6.18.1 #1 SMP PREEMPT_DYNAMIC`.
pub fn kernel(root: &Root) -> String {
    let part = |name: &str| {
        root.line(&format!("/proc/sys/kernel/{name}"))
            .unwrap_or_default()
    };
    format!("{} {}", part("osrelease"), part("version"))
        .trim()
        .to_owned()
}

/// Returns the major and minor number of the kernel's release; `None` if the release does not begin
/// with numbers.
pub fn release(root: &Root) -> Option<(u32, u32)> {
    let release = root.line("/proc/sys/kernel/osrelease").ok()?;
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// Returns the name of the Linux distribution from os-release.
pub fn distribution(root: &Root) -> Fact<String> {
    let text = match root
        .read("/etc/os-release")
        .or_else(|_| root.read("/usr/lib/os-release"))
    {
        Ok(text) => text,
        Err(error) => return Fact::unknown(error.to_string()),
    };
    let name = text
        .lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="));
    let plain = |name: &str| Fact::Known(name.trim().trim_matches(['"', '\'']).to_owned());
    name.map_or_else(|| Fact::unknown("os-release has no PRETTY_NAME"), plain)
}

/// Returns the text of the kernel's build configuration. The error says which file cannot be
/// unpacked or which files are missing.
pub fn config(root: &Root) -> Result<String, String> {
    if let Ok(packed) = root.bytes("/proc/config.gz") {
        return unpack(&packed).map_err(|error| format!("/proc/config.gz: {error}"));
    }
    let release = root
        .line("/proc/sys/kernel/osrelease")
        .map_err(|error| error.to_string())?;
    if release.contains('/') {
        return Err(format!("the release '{release}' is no file name"));
    }
    let files = [
        format!("/boot/config-{release}"),
        format!("/lib/modules/{release}/config"),
    ];
    let found = files.iter().find_map(|file| root.read(file).ok());
    found.ok_or_else(|| {
        format!(
            "neither /proc/config.gz nor {} nor {} can be read",
            files[0], files[1]
        )
    })
}

fn unpack(packed: &[u8]) -> std::io::Result<String> {
    let mut text = Vec::new();
    flate2::read::GzDecoder::new(packed)
        .take(LARGEST_CONFIG)
        .read_to_end(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Returns the value of option `name` in a kernel configuration; `None` if the option is not set.
pub fn option<'a>(config: &'a str, name: &str) -> Option<&'a str> {
    config
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
}

/// Whether the kernel with this configuration knows the option `name`, set or not. A configuration
/// does not mention unknown options.
pub fn has_option(config: &str, name: &str) -> bool {
    option(config, name).is_some()
        || config
            .lines()
            .any(|line| line == format!("# {name} is not set"))
}

/// Returns the number of the kernel's timer ticks per second (CONFIG_HZ). System calls do not show
/// this rate: user space always sees 100.
pub fn timer_hz(config: &Result<String, String>) -> Fact<u32> {
    match config {
        Ok(text) => match option(text, "CONFIG_HZ").and_then(|value| value.parse().ok()) {
            Some(hz) => Fact::Known(hz),
            None => Fact::unknown("the kernel's configuration has no CONFIG_HZ"),
        },
        Err(why) => Fact::unknown(why.clone()),
    }
}

/// Returns the preemption model in force. If the kernel can change the model at run time and does
/// not show it, the result is the model chosen at build time.
pub fn preemption(root: &Root, config: &Result<String, String>) -> Fact<String> {
    let version = root.line("/proc/sys/kernel/version").unwrap_or_default();
    let has = |word: &str| version.split_ascii_whitespace().any(|found| found == word);
    if has("PREEMPT_RT") {
        return Fact::Known("rt".to_owned());
    }
    if let Some(model) = chosen(root, config) {
        return Fact::Known(model);
    }
    match (has("PREEMPT_DYNAMIC"), has("PREEMPT"), built_in(config)) {
        (true, _, Some(model)) => Fact::Known(format!("{model} (dynamic, as built)")),
        (true, _, None) => {
            Fact::unknown("dynamic, and neither debugfs nor the configuration shows which model")
        }
        (_, true, _) => Fact::Known("full".to_owned()),
        (_, _, Some(model)) => Fact::Known(model.to_owned()),
        (_, _, None) => {
            Fact::unknown("none or voluntary: the kernel's version does not show which")
        }
    }
}

/// Returns the preemption model in parentheses in debugfs: `full` of `none voluntary (full)`.
/// Without debugfs the result is the model on the boot command line, if the kernel knows it.
fn chosen(root: &Root, config: &Result<String, String>) -> Option<String> {
    let marked = root
        .line("/sys/kernel/debug/sched/preempt")
        .ok()
        .and_then(|text| {
            let (_, rest) = text.split_once('(')?;
            rest.split_once(')').map(|(model, _)| model.to_owned())
        });
    let is_offered = |model: &String| {
        let option = MODELS
            .iter()
            .find(|(_, known)| known == model)
            .map(|(name, _)| name);
        option
            .zip(config.as_ref().ok())
            .is_none_or(|(name, config)| has_option(config, name))
    };
    let asked = || command_line_value(root, "preempt").filter(is_offered);
    marked.or_else(|| asked().map(|model| format!("{model} (by the command line)")))
}

fn built_in(config: &Result<String, String>) -> Option<&'static str> {
    let text = config.as_ref().ok()?;
    MODELS
        .into_iter()
        .find(|(name, _)| option(text, name) == Some("y"))
        .map(|(_, model)| model)
}

/// Returns the value of the last `name=value` on the boot command line. The kernel also uses the
/// last.
pub fn command_line_value(root: &Root, name: &str) -> Option<String> {
    let line = root.line("/proc/cmdline").ok()?;
    let values = line
        .split_ascii_whitespace()
        .filter_map(|word| word.split_once('='));
    values
        .rev()
        .find(|(found, _)| *found == name)
        .map(|(_, value)| value.to_owned())
}

/// Returns the size of a transparent huge page, and when the kernel uses one: `2 MiB (madvise)`.
pub fn huge_pages(root: &Root) -> Fact<String> {
    let folder = "/sys/kernel/mm/transparent_hugepage";
    let mode = match root.line(&format!("{folder}/enabled")) {
        Ok(text) => bracketed(&text).unwrap_or(&text).to_owned(),
        Err(error) => return Fact::unknown(error.to_string()),
    };
    let size = root
        .line(&format!("{folder}/hpage_pmd_size"))
        .ok()
        .and_then(|text| text.parse().ok())
        .map(Bytes);
    Fact::Known(size.map_or_else(
        || format!("size unknown ({mode})"),
        |size| format!("{size} ({mode})"),
    ))
}

/// Returns the word in brackets of a list such as `always [madvise] never`.
pub fn bracketed(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once('[')?;
    rest.split_once(']').map(|(choice, _)| choice)
}

/// Returns the size of physical memory that the kernel can use; zero if unknown.
pub fn memory(root: &Root) -> Bytes {
    let asked = || root.is_system().then(rustix::system::sysinfo);
    let of_kernel =
        || asked().map(|info| Bytes(info.totalram.saturating_mul(u64::from(info.mem_unit))));
    status::memory(root, "MemTotal")
        .or_else(of_kernel)
        .unwrap_or_default()
}

/// The kernel's preemption models, each with the configuration option that selects it at build
/// time.
pub(super) const MODELS: [(&str, &str); 4] = [
    ("CONFIG_PREEMPT_NONE", "none"),
    ("CONFIG_PREEMPT_VOLUNTARY", "voluntary"),
    ("CONFIG_PREEMPT_LAZY", "lazy"),
    ("CONFIG_PREEMPT", "full"),
];

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::fixture::Fixture;
    use crate::tests::known;

    fn gzip(text: &str) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text.as_bytes()).expect("into memory");
        encoder.finish().expect("into memory")
    }

    fn hz(fixture: &Fixture) -> Fact<u32> {
        timer_hz(&config(&fixture.root()))
    }

    #[test]
    fn the_timer_is_read_from_either_configuration() {
        assert_eq!(hz(&Fixture::workstation()), Fact::Known(250));
        let packed = Fixture::new().bytes(
            "/proc/config.gz",
            &gzip("CONFIG_HZ_1000=y\nCONFIG_HZ=1000\n"),
        );
        assert_eq!(hz(&packed), Fact::Known(1000));
    }

    #[test]
    fn an_unknown_timer_says_what_was_tried() {
        let fixture = Fixture::new().file("/proc/sys/kernel/osrelease", "6.1\n");
        let expected =
            "neither /proc/config.gz nor /boot/config-6.1 nor /lib/modules/6.1/config can be read";
        assert_eq!(hz(&fixture), Fact::unknown(expected));
        let odd = Fixture::new().file("/proc/config.gz", "not packed");
        assert_eq!(
            hz(&odd),
            Fact::unknown("/proc/config.gz: invalid gzip header")
        );
        let hostile = Fixture::new().file("/proc/sys/kernel/osrelease", "../../etc/passwd");
        assert_eq!(
            hz(&hostile),
            Fact::unknown("the release '../../etc/passwd' is no file name")
        );
    }

    fn preemption_of(version: &str, config: &str) -> Fact<String> {
        let fixture = Fixture::new().file("/proc/sys/kernel/version", version);
        preemption(&fixture.root(), &Ok(config.to_owned()))
    }

    #[test]
    fn the_preemption_model_is_the_one_in_force() {
        let unread = Err(String::new());
        let workstation = Fixture::workstation();
        assert_eq!(preemption(&workstation.root(), &unread), known("full"));
        let asked = Fixture::new().file("/proc/cmdline", "preempt=full quiet preempt=lazy\n");
        let by_command_line = preemption(&asked.root(), &unread);
        assert_eq!(by_command_line, known("lazy (by the command line)"));
        // A kernel without such a model ignores the parameter.
        let without = Ok("CONFIG_PREEMPT=y\n".to_owned());
        let refused = asked.file("/proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC");
        let as_built = preemption(&refused.root(), &without);
        assert_eq!(as_built, known("full (dynamic, as built)"));
        for (version, config, expected) in [
            ("#1 SMP PREEMPT_RT x", "", Some("rt")),
            (
                "#1 SMP PREEMPT_DYNAMIC",
                "CONFIG_PREEMPT_NONE=y",
                Some("none (dynamic, as built)"),
            ),
            ("#1 SMP PREEMPT x", "", Some("full")),
            ("#1 SMP x", "CONFIG_PREEMPT_VOLUNTARY=y", Some("voluntary")),
            ("#1 SMP x", "", None),
            ("#1 SMP PREEMPT_DYNAMIC", "", None),
        ] {
            let found = preemption_of(version, config);
            assert_eq!(found.known().map(String::as_str), expected, "{version}");
        }
    }

    #[test]
    fn huge_pages_give_size_and_mode() {
        let found = huge_pages(&Fixture::workstation().root());
        assert_eq!(found, known("2 MiB (madvise)"));
        let odd = Fixture::new().file("/sys/kernel/mm/transparent_hugepage/enabled", "[\n");
        assert_eq!(huge_pages(&odd.root()), known("size unknown ([)"));
        assert!(huge_pages(&Fixture::new().root()).known().is_none());
    }

    #[test]
    fn the_release_begins_with_two_numbers() {
        assert_eq!(release(&Fixture::workstation().root()), Some((6, 8)));
        let odd = Fixture::new().file("/proc/sys/kernel/osrelease", "six.8");
        assert_eq!(release(&odd.root()), None);
    }

    #[test]
    fn the_distribution_is_unquoted() {
        let found = distribution(&Fixture::workstation().root());
        assert_eq!(found, known("Debian GNU/Linux 12 (bookworm)"));
        let nameless = Fixture::new().file("/etc/os-release", "ID=x\n");
        assert_eq!(
            distribution(&nameless.root()),
            Fact::unknown("os-release has no PRETTY_NAME")
        );
    }
}
