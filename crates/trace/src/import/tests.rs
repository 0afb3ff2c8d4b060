use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::testing::find_problems;
use crate::{Mark, Problem, Reference};

const LACKEY: &str = "==7== Lackey\nI  0401ab70,3\nI  0401ab73,5\n S 1fff000758,8\nI  0401b770,1\n M 1fff000750,8\nhello\n L 04222cac,4\n";

/// Returns the chunks, and the error that ended the reading.
pub(super) fn read(mut importer: Importer<'_>) -> (Vec<Chunk>, Option<ImportError>) {
    let mut chunks = Vec::new();
    loop {
        let mut chunk = Chunk::default();
        match importer.next_into(&mut chunk) {
            Ok(true) => chunks.push(chunk),
            Ok(false) => return (chunks, None),
            Err(error) => return (chunks, Some(error)),
        }
    }
}

pub(crate) fn all(importer: Importer<'_>) -> Vec<Chunk> {
    let (chunks, error) = read(importer);
    assert!(error.is_none(), "{error:?}");
    chunks
}

/// Returns the first chunk.
pub(super) fn first(importer: &mut Importer<'_>) -> Chunk {
    let mut chunk = Chunk::default();
    assert!(importer.next_into(&mut chunk).expect("well-formed"));
    chunk
}

/// Returns each block: address, bytes, instructions, references.
pub(super) fn blocks(chunk: &Chunk) -> Vec<(u64, u16, u16, u16)> {
    let blocks = chunk.blocks.iter();
    blocks
        .map(|b| (b.address, b.bytes, b.instructions, b.references))
        .collect()
}

/// Returns each reference: address, bytes, whether it is a store.
pub(crate) fn touched(chunk: &Chunk) -> Vec<(u64, u16, bool)> {
    let references = chunk.references.iter();
    references
        .map(|r| (r.address(), r.bytes(), r.is_store()))
        .collect()
}

pub(super) fn failure(importer: Importer<'_>) -> ImportError {
    read(importer).1.expect("not well-formed")
}

/// Opens a file, of words of 4 bytes if the format has no sizes.
pub(crate) fn open(format: ImportFormat, bytes: &[u8]) -> Imported<Importer<'_>> {
    Importer::new(format, bytes, 4)
}

fn lackey(text: &[u8]) -> Importer<'_> {
    open(ImportFormat::Lackey, text).expect("text")
}

fn din(text: &[u8]) -> Importer<'_> {
    open(ImportFormat::Din, text).expect("text")
}

#[test]
fn puts_instructions_that_follow_one_another_into_a_block() {
    let chunks = all(lackey(LACKEY.as_bytes()));
    let [chunk] = chunks.as_slice() else {
        panic!("one chunk")
    };
    assert_eq!(
        blocks(chunk),
        [(0x0401_ab70, 8, 2, 1), (0x0401_b770, 1, 1, 3)]
    );
    let firsts = chunk.blocks.iter().map(|block| block.first_bytes);
    assert_eq!(firsts.collect::<Vec<_>>(), [3, 1]);
    let store = |address, through| Reference::new(address, 7, through, true);
    let load = |address, code| Reference::new(address, code, 0, false);
    assert_eq!(
        chunk.references,
        [
            store(0x1f_ff00_0758, 7),
            load(0x1f_ff00_0750, 7),
            store(0x1f_ff00_0750, 0),
            load(0x0422_2cac, 3)
        ]
    );
    assert!(matches!(chunk.marks[0].mark, Mark::Birth { .. }));
}

#[test]
fn reads_words_of_din() {
    let text = "\u{feff}2 400000\n0 7fff0010 comment\n2 400004\n1 0x7fff0014\n4 0\n";
    let chunks = all(din(text.as_bytes()));
    assert_eq!(blocks(&chunks[0]), [(0x40_0000, 8, 2, 2)]);
    assert_eq!(
        touched(&chunks[0]),
        [(0x7fff_0010, 4, false), (0x7fff_0014, 4, true)]
    );
    let throughs = chunks[0]
        .references
        .iter()
        .map(|reference| reference.through());
    assert_eq!(throughs.collect::<Vec<_>>(), [3, 7]);
}

#[test]
fn names_the_line_that_cannot_be() {
    let mut tar = [0; 512];
    tar[257..262].copy_from_slice(b"ustar");
    for (importer, expected) in [
        (
            lackey(b"I  zz,3\n"),
            "line 1: expected 'I  ADDRESS,SIZE', ' L ADDRESS,SIZE', ' S ...' or ' M ...' with a hexadecimal address, found 'I  \
             zz,3'; check that it is the right format",
        ),
        (
            lackey(b"I  10,0\n"),
            "line 1: 0 bytes are not 1 to 255; check that it is the right format",
        ),
        (
            lackey(b"I  10,1\n L 1000000000000,4\n"),
            "line 2: address 0x1000000000000 has more than 48 bits that count; check that it is the right format",
        ),
        (
            din(b"7 10\n"),
            "line 1: expected a label from 0 to 4 and a hexadecimal address, found '7 10'; check that it is the right format",
        ),
        (
            lackey(b"==7== Lackey\nI  10,4\n==9== \n"),
            "line 3: events of the processes 7 and 9 are in one text, which does not say whose they are; trace again with \
             --log-file=%p.txt, and import the file of one process",
        ),
        (
            din(b"2 10\r0 20\r"),
            "line 1: expected a label from 0 to 4 and a hexadecimal address, found '2 10\\r0 20'; check that it is the right format",
        ),
        (
            lackey(&[b'x'; 5000]),
            "line 1: a line is longer than 4096 bytes; check that it is the right format",
        ),
        (
            din(b"\x1f\x8b\x08\0"),
            "this is a gzip file, not a trace; unpack it: gzip -dc FILE | switchcost trace import --from din - -o TRACE",
        ),
        (
            lackey(&tar),
            "this is a tar file, not a trace; unpack it: tar -xOf FILE | switchcost trace import --from lackey - -o TRACE",
        ),
    ] {
        assert_eq!(failure(importer).to_string(), expected);
    }
    let error = Importer::new(ImportFormat::Din, &b""[..], 3);
    let error = error.err().expect("no word");
    assert_eq!(
        error.to_string(),
        "3 bytes are no word; name a power of two up to 128 (din's own word has 4 bytes)"
    );
}

#[test]
fn lackey_text_with_other_blanks_is_read_or_refused_and_never_passed_over() {
    let mut importer =
        lackey(b"I  0,1\n L 10,1\n I 004005b6,5\nI 04ead900,3\nM 0x20,4\r\n\tS\t30,2\n");
    let chunk = first(&mut importer);
    assert_eq!((chunk.instructions(), importer.ignored_lines()), (3, 0));
    assert_eq!(
        touched(&chunk),
        [
            (0x10, 1, false),
            (0x20, 4, false),
            (0x20, 4, true),
            (0x30, 2, true)
        ]
    );
    for line in [
        "I 04ead900",
        "I 04ead9zz,3",
        "L 10,",
        " L 10,1 miss",
        "I\t10,x",
        "S ,4",
    ] {
        let text = format!("I  0,1\n{line}\n");
        let error = failure(lackey(text.as_bytes()));
        assert!(
            matches!(
                error,
                ImportError::Unknown {
                    place: Location::Line(2),
                    ..
                }
            ),
            "{line}: {error}"
        );
    }
    let mut importer =
        lackey(b"\xef\xbb\xbfI  0,1\nEnter 1: L \nEnter I: I  04ead900,3\nx = S 5 L 04222cac,4\n");
    let chunk = first(&mut importer);
    assert_eq!((chunk.instructions(), importer.ignored_lines()), (2, 1));
    assert_eq!(touched(&chunk), [(0x422_2cac, 4, false)]);
    let said = "I  0,1\nI am here, and so are you\nL\nS 5 of 7\nMoved 10,4\n\n";
    let mut importer = lackey(said.as_bytes());
    let chunk = first(&mut importer);
    assert_eq!((chunk.instructions(), importer.ignored_lines()), (1, 5));
}

#[test]
fn data_without_instructions_has_one_made_up_for_each_reference_and_that_is_said() {
    let mut importer = lackey(b" L 10,1\n S 18,4\n M 20,8\n");
    assert!(importer.notes().is_empty());
    let chunk = first(&mut importer);
    assert_eq!(
        (chunk.instructions(), importer.made_up_instructions()),
        (3, 3)
    );
    assert_eq!(
        touched(&chunk),
        [
            (0x10, 1, false),
            (0x18, 4, true),
            (0x20, 8, false),
            (0x20, 8, true)
        ]
    );
    assert!(
        chunk
            .blocks
            .iter()
            .all(|block| block.address == 0x7fff_ffff_f000 && block.bytes == 1)
    );
    let [note] = importer.notes().try_into().expect("one note");
    assert!(
        note.starts_with(
            "the trace begins with references without an instruction, so one instruction was added"
        ),
        "{note}"
    );
    let mut importer = din(b"0 1000\n2 0X1004\n1 2000\n2 1008\n");
    let chunk = first(&mut importer);
    assert_eq!(
        (
            chunk.instructions(),
            importer.made_up_instructions(),
            importer.notes().len()
        ),
        (3, 1, 1)
    );
}

#[test]
fn an_instruction_may_touch_any_amount_of_data() {
    let text = format!("I  10,3\nI  13,2\n{}", " L 0,1048576\n".repeat(65));
    let mut importer = lackey(text.as_bytes());
    let chunk = first(&mut importer);
    assert_eq!(
        (chunk.references.len(), importer.made_up_instructions()),
        (65 * 1024, 1)
    );
    assert_eq!(blocks(&chunk), [(0x10, 5, 2, u16::MAX), (0x13, 2, 1, 1025)]);
    assert!(importer.notes().is_empty());
}

/// The result was checked against Dinero IV, release 7: `printf TEXT | dineroIV -informat d ...`
/// fetches the same words.
#[test]
fn din_is_what_dinero_reads() {
    let text = "02 1000\n00 103e\n0x1 2001 comment\n3 0X3003\n4 1000\n  0\t0x\n\n0x 7\n";
    let mut importer = din(text.as_bytes());
    let chunk = first(&mut importer);
    assert_eq!(chunk.instructions(), 1);
    let words = [
        (0x103c, false),
        (0x2000, true),
        (0x3000, false),
        (0, false),
        (4, false),
    ];
    assert_eq!(
        touched(&chunk),
        words.map(|(address, is_store)| (address, 4, is_store))
    );
    assert_eq!(
        importer.ignored_lines(),
        2,
        "a copy back, and an empty line"
    );
    for text in [
        "5 1000", "a 1000", "0 1000,4", "0", "r 1000", "2 +10", "0 g",
    ] {
        assert!(
            matches!(failure(din(text.as_bytes())), ImportError::Unknown { .. }),
            "{text}"
        );
    }
}

#[test]
fn cuts_chunks_between_blocks() {
    let mut text = String::new();
    for block in 0..Chunk::BLOCKS + 10 {
        text.push_str(&format!("I  {:x},4\n L {:x},8\n", block * 64, block * 8));
    }
    let chunks = all(lackey(text.as_bytes()));
    let sizes: Vec<_> = chunks
        .iter()
        .map(|chunk| (chunk.blocks.len(), chunk.references.len()))
        .collect();
    assert_eq!(sizes, [(Chunk::BLOCKS, Chunk::BLOCKS), (10, 10)]);
}

#[test]
fn gives_what_stands_before_an_error_first() {
    let (chunks, error) = read(lackey(b"I  10,4\n L 20,4\nI  x\nI  30,4\n"));
    assert_eq!(chunks.iter().map(Chunk::instructions).sum::<u64>(), 1);
    assert_eq!(chunks[0].references.len(), 1);
    assert!(
        matches!(
            error,
            Some(ImportError::Unknown {
                place: Location::Line(3),
                ..
            })
        ),
        "{error:?}"
    );
}

#[test]
fn keeps_addresses_of_the_upper_half() {
    let chunks = all(lackey(b"I  ffffffffff600000,9\n L ffff888000001000,8\n"));
    assert_eq!(chunks[0].blocks[0].address, 0xffff_ffff_ff60_0000);
    assert_eq!(chunks[0].references[0].address(), 0xffff_8880_0000_1000);
}

#[test]
fn follows_an_instruction_into_a_block_up_to_the_longest() {
    let text: String = (0..300)
        .map(|at| format!("I  {:x},4\n", 0x1000 + at * 4))
        .collect();
    assert_eq!(
        blocks(&all(lackey(text.as_bytes()))[0]),
        [(0x1000, 1024, 256, 0), (0x1400, 176, 44, 0)]
    );
}

/// Returns the violated rules of the stream.
fn problems(importer: Importer<'_>) -> Vec<Problem> {
    find_problems(&read(importer).0)
}

/// Generates mostly addresses that a trace can store.
fn address() -> impl Strategy<Value = u64> {
    prop_oneof![9 => 0..1_u64 << 47, 9 => 0..64_u64, 1 => any::<u64>()]
}

proptest! {
    #[test]
    fn any_lackey_text_is_a_sound_trace_or_an_error(lines in vec(
        prop_oneof![
            8 => (address(), 1..16_u64).prop_map(|(a, s)| format!("I  {a:x},{s}")),
            8 => ("[LSM]", address(), 1..5000_u64).prop_map(|(k, a, s)| format!(" {k} {a:x},{s}")),
            1 => (address(), 0..300_u64).prop_map(|(a, s)| format!("I  {a:x},{s}")),
            2 => "\\PC{0,40}",
        ], 0..60)) {
        prop_assert_eq!(problems(lackey(lines.join("\n").as_bytes())), []);
    }

    #[test]
    fn any_din_text_is_a_sound_trace_or_an_error(
        lines in vec(prop_oneof![
            18 => (0..5_u8, address()).prop_map(|(label, a)| format!("{label} {a:x}")),
            1 => "[0-5] [0-9a-fx]{0,18}",
        ], 0..60),
        word in (0..8_u32).prop_map(|power| 1 << power)) {
        let text = format!("2 0\n{}", lines.join("\n"));
        let importer = Importer::new(ImportFormat::Din, text.as_bytes(), word).expect("a word");
        prop_assert_eq!(problems(importer), []);
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in vec(any::<u8>(), 0..300)) {
        prop_assert_eq!(problems(lackey(&bytes)), []);
        prop_assert_eq!(problems(din(&bytes)), []);
    }
}
