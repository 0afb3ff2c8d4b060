//! Tests that malicious files with a correct checksum cannot end the program.

use std::sync::LazyLock;

use proptest::prelude::*;
use switchcost_design::result::Simulation;
use switchcost_simulation_record::{ReadSimulationError, SIMULATION_SCHEMA, SIMULATION_VERSION};
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
fn every_byte_may_be_meant_to_harm() {
    let whole = whole(&head());
    let mut refused = 0;
    for at in (4..whole.len() - 8).step_by(47) {
        let mut bytes = whole.clone();
        bytes[at] ^= [0x01, 0x80, 0xff][at % 3];
        if seal(&mut bytes) {
            refused += usize::from(read_bytes(&bytes).is_err());
        }
    }
    let least = whole.len() / 47 / 3;
    assert!(refused > least, "only {refused} were refused");
}

#[test]
fn other_versions_are_refused_by_name() {
    for version in ["0", "2", "999", "", "one", "+1", "01"] {
        let schema = format!("{SIMULATION_SCHEMA}/{version}");
        match read_bytes(&whole(&Simulation {
            schema: schema.clone(),
            ..head()
        })) {
            Err(ReadSimulationError::Version { found, .. }) => assert_eq!(found, schema),
            other => panic!("{version:?}: {other:?}"),
        }
    }
    let schema = format!("{SIMULATION_SCHEMA}/{}", SIMULATION_VERSION + 1);
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

fn footer_bytes(file: &[u8]) -> usize {
    u32::from_le_bytes(
        file[file.len() - 8..file.len() - 4]
            .try_into()
            .expect("four"),
    ) as usize
}

/// A Parquet schema with a single column of 64 bits, named `c`.
const FLAT: &[u8] = b"\x19\x2c\x48\x01r\x15\x02\0\x15\x04\x25\0\x18\x01c\0";

/// Returns a file with this schema and these row groups in its footer, and a correct checksum.
fn with_footer(schema: &[u8], row_groups: &[u8]) -> Vec<u8> {
    let key = &MARKER[..MARKER.len() - 2];
    // Version 1, the schema, no rows, the row groups, and a list of one key with its value.
    let pair = [
        [0x18, key.len() as u8].as_slice(),
        MARKER,
        &[b'0'; DIGITS],
        &[0],
    ]
    .concat();
    let footer = [
        [0x15, 2].as_slice(),
        schema,
        &[0x16, 0],
        row_groups,
        &[0x19, 0x1c],
        &pair,
        &[0],
    ]
    .concat();
    let mut bytes = [
        b"PAR1".as_slice(),
        &footer,
        &(footer.len() as u32).to_le_bytes(),
        b"PAR1",
    ]
    .concat();
    assert!(seal(&mut bytes));
    bytes
}

fn damaged_footer(why: &str) -> String {
    format!(
        "run.parquet is damaged at its footer ({why}); take a copy that is whole, or simulate again from the trace"
    )
}

/// A group with one child, as an element of a schema: repetition, name, number of children.
const GROUP: &[u8] = b"\x35\0\x18\x0ain another\x15\x02\0";

/// Returns a file whose schema has `depth` groups, each inside the previous one, and a column in
/// the last.
fn nested(depth: u16) -> Vec<u8> {
    let count = depth + 1;
    let count = [
        count as u8 | 0x80,
        (count >> 7) as u8 | 0x80,
        (count >> 14) as u8,
    ];
    let schema = [
        [0x19, 0xfc].as_slice(),
        &count,
        &GROUP.repeat(depth.into()),
        b"\x15\x04\x25\0\x18\x01c\0",
    ]
    .concat();
    with_footer(&schema, NO_ROW_GROUPS)
}

const NO_ROW_GROUPS: &[u8] = &[0x19, 0x0c];

#[test]
fn groups_inside_each_other_are_refused_however_deep() {
    for depth in [2, 20, u16::MAX - 1] {
        assert_eq!(
            refusal(&nested(depth)),
            damaged_footer("columns inside columns"),
            "{depth}"
        );
    }
    let flat = refusal(&with_footer(FLAT, NO_ROW_GROUPS));
    assert!(
        flat.starts_with(
            "run.parquet is not a record of a simulation (its footer has no switchcost.record.simulation)"
        ),
        "{flat}"
    );
}

#[test]
fn a_list_in_what_is_called_a_text_is_refused() {
    // A text of 252 bytes. By its number the field is a list of one row group with 2^31 - 1
    // columns: the Parquet reader would allocate memory for these, and the program would end
    // without that much.
    let mut row_groups = vec![0x18, 0xfc, 0x01, 0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07];
    row_groups.resize(3 + 252, 0);
    let error = refusal(&with_footer(FLAT, &row_groups));
    assert_eq!(
        error,
        damaged_footer("a field of a kind that it has in no record")
    );
}

#[test]
fn a_list_of_more_structures_than_the_footer_holds_is_refused() {
    // The structures are empty, with one byte each.
    let row_groups = [[0x19, 0xfc, 0xe8, 0x07].as_slice(), &[0; 1000]].concat();
    let error = refusal(&with_footer(FLAT, &row_groups));
    assert_eq!(
        error,
        damaged_footer("a list of more structures than its bytes hold")
    );
}

/// Returns the file with another encoding of the page kind in the header of each dictionary page,
/// namely as i64.
fn with_other_pages(mut bytes: Vec<u8>) -> Vec<u8> {
    let header = [0x15, 0x04, 0x15];
    let pages = &bytes[..bytes.len() - 8 - footer_bytes(&bytes)];
    let places: Vec<usize> = pages
        .windows(3)
        .enumerate()
        .filter(|(_, at)| *at == header)
        .map(|(at, _)| at)
        .collect();
    assert!(!places.is_empty());
    places.iter().for_each(|at| bytes[*at] = 0x16);
    assert!(seal(&mut bytes));
    bytes
}

#[test]
fn a_page_whose_header_is_of_another_kind_is_refused() {
    let error = refusal(&with_other_pages(whole(&head())));
    let (place, why) = (
        "run.parquet is damaged at row group 0 (column ",
        ": the header of a page is a field of a kind that it has in no record)",
    );
    assert!(error.starts_with(place) && error.contains(why), "{error}");
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
