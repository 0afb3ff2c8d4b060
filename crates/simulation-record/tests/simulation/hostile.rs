//! Tests that malicious files with a correct checksum cannot end the program.

use std::sync::LazyLock;

use proptest::prelude::*;
use switchcost_design::result::Simulation;
use switchcost_record::ReadRecordError;
use switchcost_simulation_record::{ReadSimulationError, SIMULATION_SCHEMA};
use xxhash_rust::xxh3::xxh3_64;

use crate::fixture::head;
use crate::{read_bytes, refusal, whole};

const MARKER: &[u8] = b"switchcost.record.checksum.xxh3\x18\x10";
const DIGITS: usize = 16;

/// Corrects the checksum of a changed file, as an attacker would.
fn seal(bytes: &mut [u8]) -> bool {
    let Some(at) = bytes
        .windows(MARKER.len())
        .rposition(|window| window == MARKER)
    else {
        return false;
    };
    let value = at + MARKER.len()..at + MARKER.len() + DIGITS;
    if value.end > bytes.len() {
        return false;
    }
    bytes[value.clone()].fill(b'0');
    let checksum = format!("{:016x}", xxh3_64(bytes));
    bytes[value].copy_from_slice(checksum.as_bytes());
    true
}

#[test]
fn sealing_a_whole_file_changes_nothing() {
    let mut bytes = whole(&head());
    let before = bytes.clone();
    assert!(seal(&mut bytes));
    assert!(
        bytes == before,
        "the checksum is the XXH3 of the file with zeros for it"
    );
}

#[test]
fn other_versions_are_refused_by_name() {
    for version in ["0", "2", "999", "", "one", "+1", "01"] {
        let schema = format!("{SIMULATION_SCHEMA}/{version}");
        match read_bytes(&whole(&Simulation {
            schema: schema.clone(),
            ..head()
        })) {
            Err(ReadSimulationError::Record(ReadRecordError::Version { found, .. })) => {
                assert_eq!(found, schema)
            }
            other => panic!("{version:?}: {other:?}"),
        }
    }
    let schema = format!("{SIMULATION_SCHEMA}/2");
    let error = refusal(&whole(&Simulation { schema, ..head() }));
    let need = " is of format switchcost.record.simulation/2, and this version reads switchcost.record.simulation/1; read it \
                with a version of switchcost that writes that format";
    assert!(error.ends_with(need), "{error}");
    let schema = "else\u{1b}".into();
    let other = refusal(&whole(&Simulation { schema, ..head() }));
    let need = r#"its schema is "else\u{1b}", not switchcost.record.simulation"#;
    assert!(other.contains(need), "{other}");
}

#[test]
fn an_interval_of_what_the_head_does_not_hold_is_damage() {
    let mut bytes = whole(&head());
    // The head loses its first cause; the text keeps its length.
    let needle = br#","causes":[{"is_voluntary":true,"entry":"birth","syscall":null},"#;
    let at = bytes
        .windows(needle.len())
        .position(|window| window == needle)
        .expect("the causes");
    let shorter = br#","causes":["#;
    bytes[at..at + needle.len()].fill(b' ');
    bytes[at..at + shorter.len()].copy_from_slice(shorter);
    assert!(seal(&mut bytes));
    let error = refusal(&bytes);
    assert!(
        error.contains("is damaged at row 2 (end 3, of which the head has 3)"),
        "{error}"
    );
}

#[test]
fn counters_whose_sum_is_no_count_are_damage() {
    let mut head = head();
    let level = &mut head.designs[0].hierarchies.flushed.levels[0];
    (level.load_accesses, level.store_accesses) = (u64::MAX, 1);
    let error = refusal(&whole(&head));
    let need = format!(
        "is damaged at its head (a cache or TLB of {} was asked more often than 64 bits can count)",
        head.designs[0].design.name
    );
    assert!(error.contains(&need), "{error}");
}

#[test]
fn a_file_without_a_head_is_no_record() {
    let mut bytes = whole(&head());
    let key = SIMULATION_SCHEMA.as_bytes();
    let mut places = bytes.windows(key.len() + 1);
    let at = places.rposition(|part| part == [key, b"\x18"].concat());
    bytes[at.expect("the key of the head")] = b'x';
    assert!(seal(&mut bytes));
    let why = "run.parquet is not a record of switchcost simulate (its footer has no switchcost.record.simulation)";
    assert!(refusal(&bytes).starts_with(why));
}

fn footer_bytes(file: &[u8]) -> usize {
    u32::from_le_bytes(
        file[file.len() - 8..file.len() - 4]
            .try_into()
            .expect("four"),
    ) as usize
}

static WHOLE: LazyLock<Vec<u8>> = LazyLock::new(|| whole(&head()));

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_bytes_may_be_meant_to_harm(
        places in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        is_footer: bool,
    ) {
        let mut bytes = WHOLE.clone();
        let length = bytes.len();
        let footer = footer_bytes(&bytes);
        let range = if is_footer { length - 8 - footer..length - 8 } else { 4..length - 8 };
        for (index, byte) in places {
            bytes[range.start + index.index(range.len())] = byte;
        }
        if seal(&mut bytes) {
            // Any answer is acceptable, as long as there is one.
            let _ = read_bytes(&bytes);
        }
    }
}
