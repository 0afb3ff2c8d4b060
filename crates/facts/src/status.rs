//! Fields of the kernel's text files of the form `name: value`.

use switchcost_units::Bytes;

use super::Root;
use super::control_groups::memory_left;

/// Returns the value of the field `name` in `/proc/self/status`; `None` if there is no such field.
pub fn field(root: &Root, name: &str) -> Option<String> {
    field_of(&root.read("/proc/self/status").ok()?, name)
}

/// Returns the value in the first line of `text` of the form `name : value`.
pub fn field_of(text: &str, name: &str) -> Option<String> {
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    let mut found = lines.filter(|(found, _)| found.trim() == name);
    found.next().map(|(_, value)| value.trim().to_owned())
}

/// Returns the memory that a new process could use without swapping, by the kernel's estimate and
/// within the limits of this process's control groups.
pub fn available_memory(root: &Root) -> Option<Bytes> {
    let available = memory(root, "MemAvailable")?;
    Some(memory_left(root).map_or(available, |left| left.min(available)))
}

/// Returns the size in the field `name` of `/proc/meminfo`; `None` if the field is missing or
/// invalid.
pub fn memory(root: &Root, name: &str) -> Option<Bytes> {
    let text = root.read("/proc/meminfo").ok()?;
    let value = field_of(&text, name)?;
    let kibibytes = value.strip_suffix("kB")?.trim().parse::<u64>().ok()?;
    kibibytes.checked_mul(1024).map(Bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    #[test]
    fn memory_is_read_with_its_unit() {
        assert_eq!(
            available_memory(&Fixture::workstation().root()),
            Some(Bytes::kib(8_192_000))
        );
        for hostile in [
            "MemAvailable: 12",
            "MemAvailable: -1 kB",
            "MemAvailable: 99999999999999999999 kB",
            "",
        ] {
            let fixture = Fixture::new().file("/proc/meminfo", hostile);
            assert_eq!(available_memory(&fixture.root()), None, "{hostile}");
        }
    }

    #[test]
    fn a_field_is_found_by_its_whole_name() {
        assert_eq!(
            field_of(
                "Cpus_allowed:\tf\nCpus_allowed_list:\t0-3\n",
                "Cpus_allowed_list"
            )
            .as_deref(),
            Some("0-3")
        );
        assert_eq!(field_of("no colon", "no"), None);
    }
}
