use switchcost_trace::testing::seeded;
use switchcost_trace::{ReadTraceError, TraceReader};

use crate::support::{read, records, written};

fn refusal(file: &[u8]) -> String {
    read(file).1.expect("is refused").to_string()
}

#[test]
fn losses_say_what_was_lost_and_where() {
    let chunks = seeded(9, 500);
    let file = written(&chunks);
    let records = records(&file);
    let third = records[3];
    let instructions: u64 = chunks[..2]
        .iter()
        .map(switchcost_trace::Chunk::instructions)
        .sum();
    assert_eq!(
        refusal(&file[..third + 40]),
        format!(
            "the file ends at byte {}, inside the record that begins at byte {third}, so only the first 2 chunks with \
             {instructions} instructions can be used; trace again for the rest",
            third + 40
        )
    );
    assert_eq!(
        refusal(&file[..third]),
        format!(
            "the tracing program was stopped: the file ends at byte {third} without an index, so only the first 2 chunks with \
             {instructions} instructions can be used; trace again for the rest"
        )
    );
    let mut damaged = file.clone();
    damaged[third + 100] ^= 1;
    assert_eq!(
        refusal(&damaged),
        format!(
            "the record that begins at byte {third} is damaged (its checksum differs), so only the first 2 chunks with \
             {instructions} instructions can be used; copy the file again from its source, or trace again"
        )
    );
    damaged = file.clone();
    damaged.push(0);
    assert!(
        refusal(&damaged).contains("(something follows the end of the trace)"),
        "{}",
        refusal(&damaged)
    );
}

#[test]
fn a_reader_that_fails_is_named() {
    struct Broken;
    impl std::io::Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("no such device"))
        }
    }
    let error = TraceReader::new(Broken).err().expect("cannot be read");
    assert!(matches!(error, ReadTraceError::Io { offset: 0, .. }));
    assert_eq!(
        error.to_string(),
        "it cannot be read at byte 0 (no such device), so nothing can be used; name one that can"
    );
}
