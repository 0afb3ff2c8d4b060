//! Tests that any damage is found before a number is used.

use proptest::prelude::*;
use switchcost_record::ReadRecordError;
use switchcost_simulation_record::ReadSimulationError;

use crate::fixture::head;
use crate::{read_bytes, refusal, whole};

#[test]
fn any_byte_that_is_another_is_found() {
    let whole = whole(&head());
    for at in (0..whole.len()).step_by(97) {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        let error = read_bytes(&bytes).expect_err("one bit is another");
        let is_named = matches!(
            error,
            ReadSimulationError::Damaged { .. }
                | ReadSimulationError::Record(ReadRecordError::Foreign { .. })
        );
        assert!(is_named, "byte {at}: {error}");
    }
}

#[test]
fn a_file_that_is_cut_is_no_record() {
    let whole = whole(&head());
    let last = whole.len() - 9..whole.len();
    for length in (0..whole.len()).step_by(97).chain(last) {
        let error = read_bytes(&whole[..length]).expect_err("cut");
        assert!(
            matches!(
                error,
                ReadSimulationError::Record(ReadRecordError::Foreign { .. })
            ),
            "{length}: {error}"
        );
    }
    assert_eq!(
        refusal(&whole[..whole.len() - 1]),
        "run.parquet is not a record of switchcost simulate (it does not end as a Parquet file does: it is cut off); name a file \
         written by switchcost simulate"
    );
}

#[test]
fn says_what_is_wrong() {
    let mut bytes = whole(&head());
    bytes[1000] ^= 1;
    assert_eq!(
        refusal(&bytes),
        "run.parquet is damaged at some byte (the checksum of the file is another); take a copy that is whole, or simulate again from \
         the trace"
    );
    assert_eq!(
        refusal(b""),
        "run.parquet is not a record of switchcost simulate (it has 0 bytes); name a file written by switchcost simulate"
    );
    let length = bytes.len();
    bytes[length - 8..length - 4].copy_from_slice(&u32::MAX.to_le_bytes());
    assert_eq!(
        refusal(&bytes),
        "run.parquet is not a record of switchcost simulate (it says that its footer has 4294967295 bytes); name a file written by \
         switchcost simulate"
    );
}

proptest! {
    #[test]
    fn garbage_is_no_record(garbage in proptest::collection::vec(any::<u8>(), 0..400), is_framed: bool) {
        let mut bytes = garbage.clone();
        if is_framed {
            let length = (garbage.len() as u32).to_le_bytes();
            bytes = [b"PAR1".as_slice(), &garbage, &length, b"PAR1"].concat();
        }
        let is_refused = matches!(read_bytes(&bytes), Err(ReadSimulationError::Record(ReadRecordError::Foreign { .. })));
        prop_assert!(is_refused);
    }
}
