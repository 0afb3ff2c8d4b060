//! Names of the cores of an Arm machine. The kernel reports only the numbers in the register
//! MIDR_EL1, as fields of `/proc/cpuinfo` for each CPU.

use super::status::field_of;

/// Names of Arm implementers and their cores, by the numbers in MIDR_EL1 (Linux,
/// arch/arm64/include/asm/cputype.h; each core's Technical Reference Manual).
const CORES: [(&str, u32, Parts); 9] = [
    (
        "Arm",
        0x41,
        &[
            (0xd03, "Cortex-A53"),
            (0xd04, "Cortex-A35"),
            (0xd05, "Cortex-A55"),
            (0xd07, "Cortex-A57"),
            (0xd08, "Cortex-A72"),
            (0xd09, "Cortex-A73"),
            (0xd0a, "Cortex-A75"),
            (0xd0b, "Cortex-A76"),
            (0xd0c, "Neoverse-N1"),
            (0xd0d, "Cortex-A77"),
            (0xd40, "Neoverse-V1"),
            (0xd41, "Cortex-A78"),
            (0xd44, "Cortex-X1"),
            (0xd46, "Cortex-A510"),
            (0xd47, "Cortex-A710"),
            (0xd48, "Cortex-X2"),
            (0xd49, "Neoverse-N2"),
            (0xd4b, "Cortex-A78C"),
            (0xd4c, "Cortex-X1C"),
            (0xd4d, "Cortex-A715"),
            (0xd4e, "Cortex-X3"),
            (0xd4f, "Neoverse-V2"),
            (0xd80, "Cortex-A520"),
            (0xd81, "Cortex-A720"),
            (0xd82, "Cortex-X4"),
            (0xd84, "Neoverse-V3"),
            (0xd85, "Cortex-X925"),
            (0xd87, "Cortex-A725"),
            (0xd8e, "Neoverse-N3"),
        ],
    ),
    ("Cavium", 0x43, &[(0x0a1, "ThunderX"), (0x0af, "ThunderX2")]),
    ("Fujitsu", 0x46, &[(0x001, "A64FX")]),
    ("HiSilicon", 0x48, &[(0xd01, "TSV110")]),
    ("NVIDIA", 0x4e, &[(0x003, "Denver"), (0x004, "Carmel")]),
    ("Applied Micro", 0x50, &[(0x000, "Potenza")]),
    (
        "Qualcomm",
        0x51,
        &[(0x800, "Falkor v1"), (0xc00, "Falkor"), (0x001, "Oryon")],
    ),
    (
        "Apple",
        0x61,
        &[
            (0x022, "Icestorm"),
            (0x023, "Firestorm"),
            (0x032, "Blizzard"),
            (0x033, "Avalanche"),
        ],
    ),
    ("Ampere", 0xc0, &[(0xac3, "Ampere-1"), (0xac4, "Ampere-1A")]),
];

/// Part numbers of one implementer, with the names of the cores.
type Parts = &'static [(u32, &'static str)];

/// Returns the names of the core types in the text of `/proc/cpuinfo`, each once, in order of their
/// first CPUs. `None` if the text names no part.
pub(super) fn kinds(text: &str) -> Option<String> {
    let mut kinds: Vec<String> = Vec::new();
    for kind in text.split("\n\n").filter_map(kind) {
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    (!kinds.is_empty()).then(|| kinds.join(", "))
}

/// Returns the name of a CPU's core type from its paragraph of `/proc/cpuinfo`: `Arm Neoverse-N1
/// r3p1`, or the numbers if the core has no name in `CORES`.
fn kind(paragraph: &str) -> Option<String> {
    let number = |name| hexadecimal(&field_of(paragraph, name)?);
    let part = field_of(paragraph, "CPU part")?;
    let implementer = field_of(paragraph, "CPU implementer");
    let name = number("CPU implementer")
        .zip(number("CPU part"))
        .and_then(|(implementer, part)| name(implementer, part));
    let name = name.unwrap_or_else(|| match implementer {
        Some(implementer) => format!("implementer {implementer}, part {part}"),
        None => format!("part {part}"),
    });
    let revision = number("CPU variant").zip(field_of(paragraph, "CPU revision"));
    let revision = revision.map(|(variant, revision)| format!(" r{variant}p{revision}"));
    Some(name + &revision.unwrap_or_default())
}

fn name(implementer: u32, part: u32) -> Option<String> {
    let (vendor, _, parts) = CORES.iter().find(|(_, number, _)| *number == implementer)?;
    let (_, name) = parts.iter().find(|(number, _)| *number == part)?;
    Some(format!("{vendor} {name}"))
}

fn hexadecimal(text: &str) -> Option<u32> {
    u32::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu(number: u32, implementer: &str, part: &str, revision: u32) -> String {
        format!(
            "processor\t: {number}\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd\nCPU implementer\t: {implementer}\n\
             CPU architecture: 8\nCPU variant\t: 0x3\nCPU part\t: {part}\nCPU revision\t: {revision}\n\n"
        )
    }

    #[test]
    fn cores_have_the_names_of_their_numbers_and_their_revision() {
        assert_eq!(
            kinds(&cpu(0, "0x41", "0xd0c", 1)).as_deref(),
            Some("Arm Neoverse-N1 r3p1")
        );
        assert_eq!(
            kinds(&cpu(0, "0xc0", "0xac3", 0)).as_deref(),
            Some("Ampere Ampere-1 r3p0")
        );
        assert_eq!(
            kinds(&cpu(0, "0x00", "0x051", 0)).as_deref(),
            Some("implementer 0x00, part 0x051 r3p0")
        );
        assert_eq!(kinds("CPU part : 0xd0c\n").as_deref(), Some("part 0xd0c"));
        assert_eq!(kinds("processor : 0\nmodel name : AMD\n"), None);
    }

    #[test]
    fn a_machine_of_small_and_large_cores_has_both_each_once() {
        let all: String = (0..8)
            .map(|n| cpu(n, "0x41", if n < 4 { "0xd05" } else { "0xd41" }, 0))
            .collect();
        assert_eq!(
            kinds(&all).as_deref(),
            Some("Arm Cortex-A55 r3p0, Arm Cortex-A78 r3p0")
        );
    }
}
