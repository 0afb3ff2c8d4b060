//! Sums by place and context. A place is an offset in the file that is mapped there, or an address.

use std::collections::HashMap;
use std::hash::Hash;

use crate::address::{KERNEL, owner};
use crate::mappings::Mappings;

/// Number of addresses whose sums are added up before their places are looked up; a power of two.
const SLOTS: usize = 1024;
/// Maximum number of places, a limit on memory. If there are more, the half with the smallest sums
/// is merged into one place for each context.
const MOST_PLACES: usize = 1 << 20;
const NO_OBJECT: u32 = u32::MAX;
/// Object number for the places that are merged because there are too many.
const ELSEWHERE: u32 = NO_OBJECT - 1;
const ELSEWHERE_NAME: &str = "other places";
const NO_OWNER: u32 = 0;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Location<C> {
    context: C,
    object: u32,
    offset: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot<C> {
    is_used: bool,
    address: u64,
    sum: i64,
    context: C,
}

/// A file that is mapped into memory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Object {
    /// Path of the file; untrusted text that must be escaped before it is shown.
    pub path: String,
    /// GNU build ID of the file in hexadecimal, if any.
    pub build_id: Option<String>,
}

/// Function that returns the name of an offset in a file, or of an address if there is no file;
/// `None` if the name is unknown.
pub type Names<'n> = dyn FnMut(Option<&Object>, u64) -> Option<String> + 'n;

/// Sum of one place, in the unit of the values added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sum<'a, C> {
    pub(crate) context: C,
    pub(crate) object: Option<&'a Object>,
    /// Offset in the object, or the address if the place is in no object.
    pub(crate) offset: u64,
    pub(crate) symbol: Option<String>,
    pub(crate) sum: i64,
}

/// Sums of one quantity, by place and context.
#[derive(Debug)]
pub(crate) struct Places<C> {
    /// Whether all memory of programs that is not mapped from a file counts as one place, at
    /// address 0.
    is_anonymous_one: bool,
    slots: Vec<Slot<C>>,
    used: Vec<u16>,
    sums: HashMap<Location<C>, i64>,
    objects: Vec<Object>,
    object_numbers: HashMap<(Vec<u8>, Vec<u8>), u32>,
}

impl<C: Copy + Default + Eq + Hash> Places<C> {
    pub(crate) fn new_code() -> Places<C> {
        Places {
            is_anonymous_one: false,
            slots: vec![Slot::default(); SLOTS],
            used: Vec::new(),
            sums: HashMap::new(),
            objects: Vec::new(),
            object_numbers: HashMap::new(),
        }
    }

    /// Makes sums for data. Memory without a file (stacks, heaps) counts as one place, because it
    /// has too many addresses and no names.
    pub(crate) fn new_data() -> Places<C> {
        Places {
            is_anonymous_one: true,
            ..Places::new_code()
        }
    }

    /// Adds `more` to the sum of an address.
    #[inline]
    pub(crate) fn add(&mut self, address: u64, more: i64, context: C, mappings: &Mappings) {
        let at = (address ^ address >> 10) as usize & (SLOTS - 1);
        let slot = self.slots[at];
        let is_same = slot.is_used && (slot.address, slot.context) == (address, context);
        if slot.is_used && !is_same {
            self.enter(slot, mappings);
        } else if !slot.is_used {
            self.used.push(at as u16);
        }
        let sum = if is_same { slot.sum + more } else { more };
        self.slots[at] = Slot {
            is_used: true,
            address,
            sum,
            context,
        };
    }

    /// Converts the recorded addresses to places. Must be called before the mappings change.
    pub(crate) fn flush(&mut self, mappings: &Mappings) {
        let mut used = std::mem::take(&mut self.used);
        for at in used.drain(..) {
            let slot = std::mem::take(&mut self.slots[usize::from(at)]);
            self.enter(slot, mappings);
        }
        self.used = used;
    }

    fn enter(&mut self, slot: Slot<C>, mappings: &Mappings) {
        if slot.sum == 0 {
            return;
        }
        let is_kernel = owner(NO_OWNER, slot.address) == KERNEL;
        let (object, offset) = match mappings.find(slot.address) {
            Some((mapping, offset)) if !mapping.path.is_empty() => {
                (self.object(&mapping.path, &mapping.build_id), offset)
            }
            _ if self.is_anonymous_one && !is_kernel => (NO_OBJECT, 0),
            _ => (NO_OBJECT, slot.address),
        };
        *self
            .sums
            .entry(Location {
                context: slot.context,
                object,
                offset,
            })
            .or_default() += slot.sum;
        if self.sums.len() > MOST_PLACES {
            self.join_half();
        }
    }

    fn object(&mut self, path: &[u8], build_id: &[u8]) -> u32 {
        let key = (path.to_vec(), build_id.to_vec());
        if let Some(&number) = self.object_numbers.get(&key) {
            return number;
        }
        let number = self.objects.len() as u32;
        let hexadecimal: String = build_id.iter().map(|byte| format!("{byte:02x}")).collect();
        let build_id = (!hexadecimal.is_empty()).then_some(hexadecimal);
        self.objects.push(Object {
            path: String::from_utf8_lossy(path).into_owned(),
            build_id,
        });
        self.object_numbers.insert(key, number);
        number
    }

    fn join_half(&mut self) {
        let mut sizes: Vec<u64> = self.sums.values().map(|sum| sum.unsigned_abs()).collect();
        let middle = sizes.len() / 2;
        let (_, &mut least, _) = sizes.select_nth_unstable(middle);
        let mut joined: HashMap<C, i64> = HashMap::new();
        self.sums.retain(|place, sum| {
            let is_kept = sum.unsigned_abs() > least;
            if !is_kept {
                *joined.entry(place.context).or_default() += *sum;
            }
            is_kept
        });
        for (context, sum) in joined {
            *self
                .sums
                .entry(Location {
                    context,
                    object: ELSEWHERE,
                    offset: 0,
                })
                .or_default() += sum;
        }
    }

    /// Returns the `most` largest sums, descending. Places with the same name are added up, and
    /// take the lowest of their offsets. Places without a name stay separate. Equal sums are
    /// ordered by the `key` of their contexts, then by object and offset.
    pub(crate) fn largest<K: Ord>(
        &self,
        most: usize,
        key: impl Fn(C) -> K,
        name: &mut Names<'_>,
    ) -> Vec<Sum<'_, C>> {
        let mut wholes: HashMap<_, (i64, u64)> = HashMap::new();
        for (place, &sum) in &self.sums {
            let object = self.objects.get(place.object as usize);
            let symbol = match place.object {
                ELSEWHERE => Some(ELSEWHERE_NAME.to_owned()),
                _ => name(object, place.offset),
            };
            let apart = symbol.is_none().then_some(place.offset);
            let whole = wholes
                .entry((place.context, object, symbol, apart))
                .or_insert((0, place.offset));
            *whole = (whole.0 + sum, whole.1.min(place.offset));
        }
        let whole = |((context, object, symbol, _), (sum, offset))| Sum {
            context,
            object,
            offset,
            symbol,
            sum,
        };
        let mut sums: Vec<Sum<'_, C>> = wholes
            .into_iter()
            .map(whole)
            .filter(|whole| whole.sum != 0)
            .collect();
        sums.sort_by(|a, b| {
            let by_context = || key(a.context).cmp(&key(b.context));
            let by_place = || (a.object, a.offset, &a.symbol).cmp(&(b.object, b.offset, &b.symbol));
            b.sum.cmp(&a.sum).then_with(by_context).then_with(by_place)
        });
        sums.truncate(most);
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_more_places_than_are_kept_nothing_is_lost() {
        let mappings = Mappings::default();
        let mut places = Places::new_data();
        let many = MOST_PLACES as u64 + MOST_PLACES as u64 / 8;
        (0..many)
            .for_each(|line| places.add(0xffff_8880_0000_0000 + 64 * line, 1, 0_u32, &mappings));
        places.flush(&mappings);
        assert!(places.sums.len() <= MOST_PLACES);
        let sums = places.largest(usize::MAX, |context| context, &mut |_, _| None);
        assert_eq!(sums.iter().map(|sum| sum.sum).sum::<i64>(), many as i64);
        assert_eq!(sums[0].symbol.as_deref(), Some(ELSEWHERE_NAME));
    }

    #[test]
    fn what_has_one_name_is_added_up_before_the_largest_are_taken() {
        let mappings = Mappings::default();
        let mut places = Places::new_data();
        let kernel = 0xffff_8880_0000_0000;
        (0..100).for_each(|line| places.add(kernel + 64 * line, 1, 0_u32, &mappings));
        places.add(kernel + 0x10_000, 60, 0, &mappings);
        places.add(0x5555_0000, 7, 0, &mappings);
        places.add(0x7fff_0000, 8, 0, &mappings);
        places.flush(&mappings);
        let mut names = |_: Option<&Object>, offset| {
            (kernel..kernel + 0x10_000)
                .contains(&offset)
                .then(|| "task".to_owned())
        };
        let largest = |most, names: &mut Names<'_>| -> Vec<(u64, Option<String>, i64)> {
            let sums = places.largest(most, |context| context, names);
            sums.into_iter()
                .map(|sum| (sum.offset, sum.symbol, sum.sum))
                .collect()
        };
        let all = [
            (kernel, Some("task".to_owned()), 100),
            (kernel + 0x10_000, None, 60),
            (0, None, 15),
        ];
        assert_eq!(
            largest(9, &mut names),
            all,
            "memory of programs without a file is one place"
        );
        assert_eq!(largest(1, &mut names), all[..1]);
        assert_eq!(
            largest(1, &mut |_, _| None),
            [(kernel + 0x10_000, None, 60)]
        );
    }
}
