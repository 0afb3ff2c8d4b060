use itertools::Itertools;
use std::path::Path;

use crate::quantity::count;

/// Describes a trace file in one line after it has been written. Unknown numbers are left out.
pub fn describe_written(
    path: &Path,
    instructions: u64,
    references: Option<u64>,
    switches: Option<u64>,
    bytes: Option<u64>,
) -> String {
    let counted = [
        Some(format!("{} instructions", count(instructions))),
        references.map(|references| format!("{} loads and stores", count(references))),
        switches.map(|switches| match switches {
            1 => "1 switch".to_owned(),
            several => format!("{} switches", count(several)),
        }),
        bytes.map(megabytes),
    ];
    let counted = counted.into_iter().flatten().join(", ");
    format!("wrote {}: {counted}", path.display())
}

/// Formats a number of bytes in megabytes.
fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_trace_is_described_with_grouped_digits() {
        let path = Path::new("two.sct");
        assert_eq!(
            describe_written(path, 1_359_695, Some(471_000), Some(1), Some(412_345)),
            "wrote two.sct: 1,359,695 instructions, 471,000 loads and stores, 1 switch, 0.4 MB"
        );
        assert_eq!(
            describe_written(path, 1_359_695, None, None, None),
            "wrote two.sct: 1,359,695 instructions"
        );
    }
}
