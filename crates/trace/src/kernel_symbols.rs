//! Names of addresses in the traced kernel: functions, variables, and kinds of memory.

/// Maximum number of symbols that are read. Real kernels have fewer.
const MOST: usize = 1 << 20;
/// Maximum length of a name in bytes: the kernel's own limit (KSYM_NAME_LEN).
const LONGEST_NAME: usize = 511;
const MOST_BYTES: usize = 32 << 20;
const PAGE: u64 = 4096;
/// Name of an address range whose content is unknown.
const NOTHING: &str = "-";

/// Names of a kernel's functions, variables and memory, by address.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct KernelSymbols {
    /// Start addresses, ascending, each with the end of its name in `names`.
    starts: Vec<(u64, u32)>,
    names: String,
}

/// Prints only the number of symbols, because there are too many to print.
impl std::fmt::Debug for KernelSymbols {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "KernelSymbols({})", self.starts.len())
    }
}

impl KernelSymbols {
    /// Parses lines `ADDRESS NAME` with ascending hexadecimal addresses, as in /proc/kallsyms. A
    /// name may contain spaces. The name `-` means that the content is unknown from that address
    /// on. Of several names for one address, the first counts. Returns `None` if a line has another
    /// form, or if there are more lines than any kernel has symbols.
    pub fn parse_lines(text: &[u8]) -> Option<KernelSymbols> {
        KernelSymbols::sort_pairs(pairs(text)?)
    }

    /// Parses lines in any order, which are otherwise as for [`KernelSymbols::parse_lines`]. A `-`
    /// does not count at an address that also has a name.
    pub fn parse_unsorted_lines(text: &[u8]) -> Option<KernelSymbols> {
        let mut pairs = pairs(text)?;
        pairs.sort_by_key(|&(address, name)| (address, name == NOTHING));
        KernelSymbols::sort_pairs(pairs)
    }

    fn sort_pairs(pairs: Vec<(u64, &str)>) -> Option<KernelSymbols> {
        let mut symbols = KernelSymbols::default();
        pairs
            .into_iter()
            .try_for_each(|(address, name)| symbols.add(address, name))?;
        Some(symbols)
    }

    /// Returns the symbols as text that [`KernelSymbols::parse_lines`] reads.
    pub fn format_lines(&self) -> String {
        let mut begin = 0;
        let line = |&(address, end): &(u64, u32)| {
            let name = &self.names[begin..end as usize];
            begin = end as usize;
            format!("{address:x} {name}\n")
        };
        self.starts.iter().map(line).collect()
    }

    fn add(&mut self, address: u64, name: &str) -> Option<()> {
        let is_printed = |byte: u8| byte.is_ascii_graphic() || byte == b' ';
        if name.is_empty()
            || name.len() > LONGEST_NAME
            || name.trim() != name
            || !name.bytes().all(is_printed)
        {
            return None;
        }
        match self.starts.last() {
            Some(&(last, _)) if last == address => return Some(()),
            Some(&(last, _)) if last > address => return None,
            _ if self.starts.len() == MOST => return None,
            _ => {}
        }
        self.names.push_str(name);
        self.starts.push((address, self.names.len() as u32));
        Some(())
    }

    /// Returns the name of the last symbol at or before an address; `None` if there is no symbol,
    /// or `-` in place of its name. The end of the last symbol is unknown, so an address more than
    /// a page after it (in a module) has no name.
    pub fn name_at(&self, address: u64) -> Option<&str> {
        let (last, _) = self.starts.last()?;
        if address.saturating_sub(*last) > PAGE {
            return None;
        }
        let number = self
            .starts
            .partition_point(|&(start, _)| start <= address)
            .checked_sub(1)?;
        let begin = number
            .checked_sub(1)
            .map_or(0, |before| self.starts[before].1);
        self.names
            .get(begin as usize..self.starts[number].1 as usize)
            .filter(|name| *name != NOTHING)
    }

    /// Whether there are no symbols.
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// Returns the number of symbols.
    pub fn count(&self) -> usize {
        self.starts.len()
    }

    /// Encodes the body of a record of symbols: a zstd frame of lines `ADDRESS NAME`.
    pub(crate) fn encode(&self) -> std::io::Result<Vec<u8>> {
        zstd::bulk::compress(self.format_lines().as_bytes(), 0)
    }

    /// Decodes the body of a record of symbols, the reverse of `encode`.
    pub(crate) fn decode(body: &[u8]) -> Result<KernelSymbols, &'static str> {
        // zstd accepts an empty body as one without frames; a record of symbols has a frame.
        if body.is_empty() {
            return Err("it is empty");
        }
        let lines = zstd::bulk::decompress(body, capacity(body))
            .map_err(|_| "it is no zstd frame, or too long")?;
        KernelSymbols::parse_lines(&lines)
            .ok_or("it has a line that names nothing, or is out of order")
    }
}

/// Returns the address and name in each line; `None` if a line has another form.
fn pairs(text: &[u8]) -> Option<Vec<(u64, &str)>> {
    if text.len() > MOST_BYTES {
        return None;
    }
    let pairs = std::str::from_utf8(text).ok()?.lines().map(|line| {
        let (address, name) = line.split_once(' ')?;
        Some((u64::from_str_radix(address, 16).ok()?, name))
    });
    pairs.collect()
}

/// Returns the unpacked size that a zstd frame states, or the maximum if that is smaller.
fn capacity(body: &[u8]) -> usize {
    let claimed = zstd::zstd_safe::get_frame_content_size(body)
        .ok()
        .flatten()
        .unwrap_or(0);
    usize::try_from(claimed)
        .unwrap_or(MOST_BYTES)
        .min(MOST_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &[u8] =
        b"ffffffff81000000 startup_64\nffffffff81000000 _stext\nffffffff81000040 do_it\n";

    #[test]
    fn an_address_lies_in_what_begins_before_it() {
        let symbols = KernelSymbols::parse_lines(LINES).expect("lines");
        let found = [
            0xffff_ffff_80ff_ffff,
            0xffff_ffff_8100_0000,
            0xffff_ffff_8100_003f,
            0xffff_ffff_8100_0041,
            u64::MAX,
        ];
        assert_eq!(
            found.map(|address| symbols.name_at(address)),
            [
                None,
                Some("startup_64"),
                Some("startup_64"),
                Some("do_it"),
                None
            ]
        );
        assert_eq!(symbols.count(), 2);
        assert_eq!(KernelSymbols::default().name_at(0), None);
    }

    #[test]
    fn behind_what_is_known_nothing_is() {
        let lines =
            b"ffff888000001000 runqueues\nffff888000001d00 -\nffff888000004000 page table\nffffffff81000000 _text\n";
        let symbols = KernelSymbols::parse_lines(lines).expect("lines");
        let found = [0xfff, 0x1cff, 0x1d00, 0x3fff, 0x4000]
            .map(|offset| symbols.name_at(0xffff_8880_0000_0000 + offset));
        assert_eq!(
            found,
            [None, Some("runqueues"), None, None, Some("page table")]
        );
        assert_eq!(symbols.format_lines().as_bytes(), lines);
        let unsorted = b"3000 -\n2000 b\n3000 c\n1000 a\n2000 -\n2000 again\n";
        let symbols = KernelSymbols::parse_unsorted_lines(unsorted).expect("lines");
        assert_eq!(symbols.format_lines(), "1000 a\n2000 b\n3000 c\n");
    }

    #[test]
    fn what_is_written_is_read_again() {
        let symbols = KernelSymbols::parse_lines(LINES).expect("lines");
        let body = symbols.encode().expect("memory does not fail");
        assert_eq!(KernelSymbols::decode(&body), Ok(symbols));
        for end in 0..body.len() {
            assert!(KernelSymbols::decode(&body[..end]).is_err(), "{end}");
        }
    }

    #[test]
    fn what_is_no_list_of_functions_is_refused() {
        let long = format!("1 {}\n", "x".repeat(512));
        for text in [
            "x",
            "zz name",
            "2 b\n1 a\n",
            "1 ",
            "1  two",
            "1 two ",
            "1 \u{e9}",
            &long,
        ] {
            assert_eq!(KernelSymbols::parse_lines(text.as_bytes()), None, "{text}");
        }
    }
}
