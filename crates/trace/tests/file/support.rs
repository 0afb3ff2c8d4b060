use switchcost_trace::{Chunk, ReadTraceError, TraceHeader, TraceOrder, TraceReader, TraceWriter};

pub(crate) fn header() -> TraceHeader {
    let mut header = TraceHeader::new("synthetic", TraceOrder::Synthetic, "x86_64");
    header.program_version = "0.1.0".to_owned();
    header.commands = vec![
        vec!["true".to_owned()],
        vec!["echo".to_owned(), "a \"b\"".to_owned()],
    ];
    header.quantum_instructions = Some(400_000);
    header
}

pub(crate) fn written(chunks: &[Chunk]) -> Vec<u8> {
    let mut writer = TraceWriter::create(Vec::new(), &header()).expect("memory takes it");
    chunks
        .iter()
        .for_each(|chunk| writer.write(chunk).expect("memory takes it"));
    let (file, written) = writer.finish().expect("memory takes it");
    assert_eq!(written.bytes, file.len() as u64);
    file
}

pub(crate) fn reader(file: &[u8]) -> TraceReader<&[u8]> {
    TraceReader::new(file).expect("has a header")
}

/// Returns the chunks of a file that is whole.
pub(crate) fn read_whole(file: &[u8]) -> Vec<Chunk> {
    let (chunks, error) = read(file);
    assert!(error.is_none(), "{error:?}");
    chunks
}

/// Returns the chunks up to the end or the first error.
pub(crate) fn read(file: &[u8]) -> (Vec<Chunk>, Option<ReadTraceError>) {
    let mut reader = match TraceReader::new(file) {
        Ok(reader) => reader,
        Err(error) => return (Vec::new(), Some(error)),
    };
    let (mut chunks, mut chunk) = (Vec::new(), Chunk::default());
    loop {
        match reader.next_into(&mut chunk) {
            Ok(true) => chunks.push(chunk.clone()),
            Ok(false) => {
                assert!(chunk.is_empty());
                return (chunks, None);
            }
            Err(error) => {
                assert!(chunk.is_empty());
                assert!(matches!(reader.next_into(&mut chunk), Ok(false)));
                return (chunks, Some(error));
            }
        }
    }
}

/// Returns the bytes at which records begin, and the end of the file.
pub(crate) fn records(file: &[u8]) -> Vec<usize> {
    let mut offsets = vec![8];
    while let Some(head) = file
        .get(offsets[offsets.len() - 1]..)
        .and_then(|rest| rest.get(..32))
    {
        let length = u32_at(head, 12) as usize;
        offsets.push(offsets[offsets.len() - 1] + 32 + length);
    }
    assert_eq!(offsets.last(), Some(&file.len()));
    offsets
}

/// Reads four bytes as a number.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("are four bytes"))
}
