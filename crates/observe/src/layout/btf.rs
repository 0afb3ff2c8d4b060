//! Reads the type information of the BPF program (BTF), as far as tests compare it.
//!
//! Format: <https://docs.kernel.org/bpf/btf.html>.

use std::collections::BTreeMap;

use object::{Object, ObjectSection};

const POINTER: u32 = 2;
const ARRAY: u32 = 3;
const STRUCT: u32 = 4;
const UNION: u32 = 5;
const ENUM: u32 = 6;

struct Type {
    kind: u32,
    name: String,
    /// Size of the type in bytes, or number of the type that it refers to.
    size_or_type: u32,
    /// Members of a structure (name, type, offset in bits) or enumerators (name and value; the last
    /// number is not used).
    parts: Vec<(String, u32, u32)>,
    /// Number of elements of an array, and ID of the elements' type.
    elements: (u32, u32),
}

pub(super) struct Btf {
    types: Vec<Type>,
}

/// A field: its name, its offset and its size in bytes.
pub(super) type Field = (String, usize, usize);

impl Btf {
    pub(super) fn parse_object(object: &[u8]) -> Btf {
        let file = object::File::parse(object).expect("clang's");
        let section = file
            .section_by_name(".BTF")
            .expect("it is compiled with -g");
        Btf::read(section.data().expect("it is in the file"))
    }

    fn read(data: &[u8]) -> Btf {
        let word = |at: usize| u32::from_ne_bytes(data[at..at + 4].try_into().expect("four bytes"));
        let header = word(4) as usize;
        let (types, length, strings) = (
            header + word(8) as usize,
            word(12) as usize,
            header + word(16) as usize,
        );
        let text = |offset: u32| {
            let text = &data[strings + offset as usize..];
            let end = text.iter().position(|&byte| byte == 0).expect("it ends");
            String::from_utf8_lossy(&text[..end]).into_owned()
        };
        // Type number 0 is void.
        let mut found = vec![Type {
            kind: 0,
            name: String::new(),
            size_or_type: 0,
            parts: Vec::new(),
            elements: (0, 0),
        }];
        let mut at = types;
        while at < types + length {
            let (info, behind) = (word(at + 4), at + 12);
            let (kind, count) = (info >> 24 & 0x1f, (info & 0xffff) as usize);
            let (each, fixed) = match kind {
                ARRAY => (0, 12),
                STRUCT | UNION => (12, 0),
                ENUM => (8, 0),
                1 | 14 | 17 => (0, 4),
                13 => (8, 0),
                15 | 19 => (12, 0),
                _ => (0, 0),
            };
            let part = |part: usize| {
                let at = behind + part * each;
                (
                    text(word(at)),
                    word(at + 4),
                    if each == 12 { word(at + 8) } else { 0 },
                )
            };
            found.push(Type {
                kind,
                name: text(word(at)),
                size_or_type: word(at + 8),
                parts: if matches!(kind, STRUCT | UNION | ENUM) {
                    (0..count).map(part).collect()
                } else {
                    Vec::new()
                },
                elements: if kind == ARRAY {
                    (word(behind + 8), word(behind))
                } else {
                    (0, 0)
                },
            });
            at = behind + fixed + each * count;
        }
        Btf { types: found }
    }

    fn find(&self, kind: u32, name: &str) -> &Type {
        let mut found = self
            .types
            .iter()
            .filter(|of| of.kind == kind && of.name == name);
        found
            .next()
            .unwrap_or_else(|| panic!("the program has {name}"))
    }

    /// Returns the size of a structure in bytes, and its fields. Fields of an unnamed structure or
    /// union inside it count as its own.
    pub(super) fn structure(&self, name: &str) -> (usize, Vec<Field>) {
        let of = self.find(STRUCT, name);
        (of.size_or_type as usize, self.fields(of))
    }

    fn fields(&self, of: &Type) -> Vec<Field> {
        let fields = of.parts.iter().flat_map(|(name, of, bits)| {
            let offset = *bits as usize / 8;
            if !name.is_empty() {
                return vec![(name.clone(), offset, self.size(*of))];
            }
            let within = self.fields(&self.types[*of as usize]).into_iter();
            within
                .map(|(name, at, size)| (name, offset + at, size))
                .collect()
        });
        fields.collect()
    }

    fn size(&self, id: u32) -> usize {
        let of = &self.types[id as usize];
        match of.kind {
            POINTER => 8,
            ARRAY => of.elements.0 as usize * self.size(of.elements.1),
            // Kinds that have a size: integers, structures, unions, enumerations.
            1 | STRUCT | UNION | ENUM => of.size_or_type as usize,
            _ => self.size(of.size_or_type),
        }
    }

    /// Returns the values of an enumeration by name.
    pub(super) fn enumeration(&self, name: &str) -> BTreeMap<String, u32> {
        self.find(ENUM, name)
            .parts
            .iter()
            .map(|(name, value, _)| (name.clone(), *value))
            .collect()
    }

    /// Returns the number of entries of a map. BPF's header declares the number as a pointer to an
    /// array with as many elements.
    pub(super) fn entries_of(&self, map: &str) -> usize {
        let variable = self.find(14, map);
        let map = &self.types[variable.size_or_type as usize];
        let (_, entries, _) = map
            .parts
            .iter()
            .find(|(name, ..)| name == "max_entries")
            .expect("it has so many");
        let array = self.types[*entries as usize].size_or_type;
        self.types[array as usize].elements.0 as usize
    }
}
