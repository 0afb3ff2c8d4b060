//! Cache partitions: the ways of a level that each program may fill, as in Intel's Cache Allocation
//! Technology, in the terms of Linux's resctrl.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Key of the mask for all programs that no other key names.
const DEFAULT: &str = "default";
/// Prefix of a key that gives a process number instead of a program name, for ambiguous names.
const PROCESS: &str = "process:";

/// A cache partition: capacity bitmasks by program. A program without a mask may fill all ways.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Partition(BTreeMap<String, CapacityBitmask>);

/// Capacity bitmask of a program: bit `n` stands for way `n`. The text is hexadecimal, as in
/// resctrl's schemata.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CapacityBitmask(pub u64);

impl Partition {
    /// Returns the mask of the ways that a process may fill: by process number, then by program
    /// name, then the default. `None` means all ways.
    pub fn bitmask(&self, program: &str, process: u32) -> Option<CapacityBitmask> {
        let of = |key: &str| self.0.get(key).copied();
        of(&format!("{PROCESS}{process}"))
            .or_else(|| of(program))
            .or_else(|| of(DEFAULT))
    }

    /// Returns all keys of the partition with their masks.
    pub fn masks(&self) -> impl Iterator<Item = (&str, CapacityBitmask)> {
        self.0.iter().map(|(key, mask)| (key.as_str(), *mask))
    }

    /// Whether `key` stands for the process with this program name and number.
    pub fn names(key: &str, program: &str, process: u32) -> bool {
        key == program || key == DEFAULT || number_of(key) == Some(Some(process))
    }

    /// Whether `key` has the prefix `process:` but no valid number after it.
    pub(crate) fn is_numberless(key: &str) -> bool {
        number_of(key) == Some(None)
    }
}

/// Returns the process number in `key`: `None` if the key has no prefix `process:`, `Some(None)` if
/// the number is invalid.
fn number_of(key: &str) -> Option<Option<u32>> {
    let is_plain = |number: &u32, digits: &str| number.to_string() == digits;
    key.strip_prefix(PROCESS).map(|digits| {
        digits
            .parse()
            .ok()
            .filter(|number| is_plain(number, digits))
    })
}

/// Parses a partition: `PROGRAM:MASK`, or several of these joined by `+`.
impl std::str::FromStr for Partition {
    type Err = String;

    fn from_str(text: &str) -> Result<Partition, String> {
        let mut masks = BTreeMap::new();
        for part in text.split('+') {
            let (key, mask) = part.rsplit_once(':').ok_or_else(|| {
                format!(
                    "{text:?} is not a partition; write none, or PROGRAM:MASK joined by +, such as \
                         redis-server:ff0+default:00f"
                )
            })?;
            if masks.insert(key.to_owned(), mask.parse()?).is_some() {
                return Err(format!("{key:?} is named twice; name it once"));
            }
        }
        Ok(Partition(masks))
    }
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self
            .masks()
            .map(|(key, mask)| format!("{key}:{mask}"))
            .collect();
        f.write_str(&parts.join("+"))
    }
}

impl std::str::FromStr for CapacityBitmask {
    type Err = String;

    fn from_str(text: &str) -> Result<CapacityBitmask, String> {
        let digits = text.strip_prefix("0x").unwrap_or(text);
        let mask = match digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            true => u64::from_str_radix(digits, 16).ok(),
            false => None,
        };
        mask.map(CapacityBitmask).ok_or_else(|| {
            format!("{text:?} is not a capacity bitmask; write up to 16 hexadecimal digits, one bit a way, such as ff0")
        })
    }
}

impl fmt::Display for CapacityBitmask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}", self.0)
    }
}

impl Serialize for CapacityBitmask {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Deserializes a mask from text only, because masks are hexadecimal: the number 110 is not the
/// mask `"110"`.
impl<'de> Deserialize<'de> for CapacityBitmask {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Mask;
        impl de::Visitor<'_> for Mask {
            type Value = CapacityBitmask;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a capacity bitmask in hexadecimal, such as \"ff0\"")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<CapacityBitmask, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Mask)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn partition(text: &str) -> Partition {
        text.parse().expect("a partition")
    }

    #[test]
    fn a_process_goes_before_its_program_and_that_before_the_rest() {
        let some = partition("server:f0+process:3:100+default:0f");
        let of = |program, process| some.bitmask(program, process).map(|mask| mask.0);
        assert_eq!(
            [of("server", 2), of("server", 3), of("client", 4)],
            [Some(0xf0), Some(0x100), Some(0xf)]
        );
        assert_eq!(partition("server:f0").bitmask("client", 4), None);
    }

    #[test]
    fn goes_through_text_json_and_toml() {
        let text = "default:f+process:3:100+server:ff0";
        assert_eq!(
            partition("server:0xff0+process:3:100+default:00f").to_string(),
            text
        );
        let json = serde_json::to_string(&partition(text)).expect("JSON");
        assert_eq!(json, r#"{"default":"f","process:3":"100","server":"ff0"}"#);
        assert_eq!(
            serde_json::from_str::<Partition>(&json).expect("the same"),
            partition(text)
        );
        let in_toml =
            toml::from_str::<BTreeMap<String, Partition>>("partition = { server = \"0xff0\" }")
                .expect("TOML");
        assert_eq!(in_toml["partition"], partition("server:ff0"));
    }

    #[test]
    fn says_what_is_no_partition() {
        let said = |text: &str| text.parse::<Partition>().expect_err("none");
        let form = "is not a partition; write none, or PROGRAM:MASK joined by +, such as redis-server:ff0+default:00f";
        assert_eq!(said("ff0"), format!("\"ff0\" {form}"));
        assert_eq!(said("a:f+a:1"), "\"a\" is named twice; name it once");
        for mask in ["", "0x", "+f", "-1", "fg", "10000000000000000"] {
            assert!(mask.parse::<CapacityBitmask>().is_err(), "{mask}");
        }
        let number = toml::from_str::<BTreeMap<String, Partition>>("partition = { server = 110 }");
        let number = number.expect_err("decimal or hexadecimal?").to_string();
        assert!(
            number.contains("expected a capacity bitmask in hexadecimal, such as \"ff0\""),
            "{number}"
        );
    }

    #[test]
    fn knows_which_processes_a_key_names() {
        assert!(
            Partition::names("server", "server", 1) && !Partition::names("server", "client", 1)
        );
        assert!(
            Partition::names("process:7", "server", 7)
                && !Partition::names("process:7", "server", 8)
        );
        assert!(Partition::names("default", "server", 1));
        assert!(Partition::is_numberless("process:") && Partition::is_numberless("process:07"));
        assert!(!Partition::is_numberless("process:7") && !Partition::is_numberless("process"));
    }
}
