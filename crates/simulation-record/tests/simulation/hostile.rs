//! Files that someone made up, with a checksum that is right: an error, never the end of the program.

use proptest::prelude::*;
use simulation_result::Simulation;
use switchcost_simulation_record::{ReadSimulationError, SIMULATION_SCHEMA, SIMULATION_VERSION};
use xxhash_rust::xxh3::xxh3_64;

use crate::fixture::{head, tuples};
use crate::{Folder, read, write};

const MARKER: &[u8] = b"switchcost.record.checksum.xxh3\x18\x10";
const DIGITS: usize = 16;

/// Makes the checksum right again, as someone who means harm would.
fn seal(bytes: &mut [u8]) -> bool {
    let Some(at) = bytes.windows(MARKER.len()).rposition(|window| window == MARKER) else { return false };
    let value = at + MARKER.len()..at + MARKER.len() + DIGITS;
    if value.end > bytes.len() {
        return false;
    }
    bytes[value.clone()].fill(b'0');
    let checksum = format!("{:016x}", xxh3_64(bytes));
    bytes[value].copy_from_slice(checksum.as_bytes());
    true
}

fn whole(head: &Simulation) -> Vec<u8> {
    let folder = Folder::new();
    write(&folder.file(), head, &tuples(300), 100);
    std::fs::read(folder.file()).expect("there")
}

fn read_bytes(bytes: &[u8]) -> Result<usize, ReadSimulationError> {
    let folder = Folder::new();
    std::fs::write(folder.file(), bytes).expect("room");
    read(&folder.file()).map(|(_, tuples)| tuples.len())
}

#[test]
fn sealing_a_whole_file_changes_nothing() {
    let mut bytes = whole(&head());
    let before = bytes.clone();
    assert!(seal(&mut bytes));
    assert!(bytes == before, "the checksum is the XXH3 of the file with zeros for it");
}

#[test]
fn every_byte_may_be_meant_to_harm() {
    let whole = whole(&head());
    let mut refused = 0;
    for at in (4..whole.len() - 8).step_by(23) {
        for flip in [0x01, 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] ^= flip;
            if seal(&mut bytes) {
                refused += usize::from(read_bytes(&bytes).is_err());
            }
        }
    }
    assert!(refused > whole.len() / 23, "only {refused} were refused");
}

#[test]
fn other_versions_are_refused_by_name() {
    for version in ["0", "2", "999", "", "one", "+1", "01"] {
        let schema = format!("{SIMULATION_SCHEMA}/{version}");
        match read_bytes(&whole(&Simulation { schema: schema.clone(), ..head() })) {
            Err(ReadSimulationError::Version { found, .. }) => assert_eq!(found, schema),
            other => panic!("{version:?}: {other:?}"),
        }
    }
    let schema = format!("{SIMULATION_SCHEMA}/{}", SIMULATION_VERSION + 1);
    let error = read_bytes(&whole(&Simulation { schema, ..head() })).expect_err("newer").to_string();
    let need = " is of format switchcost.record.simulation/2, need switchcost.record.simulation/1 to \
                switchcost.record.simulation/1; read it with the version of switchcost that wrote it or a later one";
    assert!(error.ends_with(need), "{error}");
    let other = read_bytes(&whole(&Simulation { schema: "else\u{1b}".into(), ..head() })).expect_err("else");
    assert!(other.to_string().contains(r#"its schema is "else\u{1b}", not switchcost.record.simulation"#), "{other}");
}

#[test]
fn a_tuple_of_what_the_head_does_not_hold_is_damage() {
    let mut bytes = whole(&head());
    // The head loses its third process; the text keeps its length.
    let json = String::from_utf8_lossy(&bytes).into_owned();
    let list = json.find(r#","processes":[{"process":1"#).expect("the processes");
    assert!(list > 0);
    let needle = br#","causes":[{"is_voluntary":true,"entry":"birth","syscall":null},"#;
    let at = bytes.windows(needle.len()).position(|window| window == needle).expect("the causes");
    let shorter = br#","causes":["#;
    bytes[at..at + needle.len()].fill(b' ');
    bytes[at..at + shorter.len()].copy_from_slice(shorter);
    assert!(seal(&mut bytes));
    let error = read_bytes(&bytes).expect_err("three causes").to_string();
    assert!(error.contains("is damaged at row 2 (end 3, of which the head has 3)"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_bytes_may_be_meant_to_harm(
        places in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        is_footer: bool,
    ) {
        let mut bytes = whole(&head());
        let length = bytes.len();
        let footer = u32::from_le_bytes(bytes[length - 8..length - 4].try_into().expect("four")) as usize;
        let range = if is_footer { length - 8 - footer..length - 8 } else { 4..length - 8 };
        for (index, byte) in places {
            bytes[range.start + index.index(range.len())] = byte;
        }
        if seal(&mut bytes) {
            // An answer, whichever: what matters is that there is one.
            let _ = read_bytes(&bytes);
        }
    }
}
