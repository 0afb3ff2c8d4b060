//! Sums by place: an offset in a file that is mapped there, or an address, and a context that tells sums apart beside it.

use std::collections::HashMap;
use std::hash::Hash;

use crate::address::{KERNEL, owner};
use crate::mappings::Mappings;

/// Addresses whose sums are added up before their place is looked up; a power of two.
const SLOTS: usize = 1024;
/// Bounds the memory: where there are more places, the half with the least sums is forgotten.
const MOST_PLACES: usize = 1 << 20;
const NO_OBJECT: u32 = u32::MAX;
const NOBODYS: u32 = 0;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Place<C> {
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

/// A file that lies behind addresses.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Object {
    pub(crate) path: String,
    /// In hexadecimal.
    pub(crate) build_id: Option<String>,
}

/// What is added up at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sum<'a, C> {
    pub(crate) context: C,
    pub(crate) object: Option<&'a Object>,
    /// In the object; the address itself without one.
    pub(crate) offset: u64,
    pub(crate) sum: i64,
}

/// Sums of one kind, by place and context.
#[derive(Debug)]
pub(crate) struct Places<C> {
    /// Memory of programs without a file behind it is one place, at address 0.
    is_anonymous_one: bool,
    slots: Vec<Slot<C>>,
    used: Vec<u16>,
    sums: HashMap<Place<C>, i64>,
    objects: Vec<Object>,
    object_numbers: HashMap<(Vec<u8>, Vec<u8>), u32>,
}

impl<C: Copy + Default + Eq + Hash> Places<C> {
    pub(crate) fn of_code() -> Places<C> {
        Places {
            is_anonymous_one: false,
            slots: vec![Slot::default(); SLOTS],
            used: Vec::new(),
            sums: HashMap::new(),
            objects: Vec::new(),
            object_numbers: HashMap::new(),
        }
    }

    /// Stacks and heaps have too many addresses, and no name for any.
    pub(crate) fn of_data() -> Places<C> {
        Places { is_anonymous_one: true, ..Places::of_code() }
    }

    /// Adds something at an address.
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
        self.slots[at] = Slot { is_used: true, address, sum, context };
    }

    /// Looks the places up, before the mappings change.
    pub(crate) fn settle(&mut self, mappings: &Mappings) {
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
        let is_kernel = owner(NOBODYS, slot.address) == KERNEL;
        let (object, offset) = match mappings.find(slot.address) {
            Some((mapping, offset)) if !mapping.path.is_empty() => {
                (self.object(&mapping.path, &mapping.build_id), offset)
            }
            _ if self.is_anonymous_one && !is_kernel => (NO_OBJECT, 0),
            _ => (NO_OBJECT, slot.address),
        };
        *self.sums.entry(Place { context: slot.context, object, offset }).or_default() += slot.sum;
        if self.sums.len() > MOST_PLACES {
            self.forget_half();
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
        self.objects.push(Object { path: String::from_utf8_lossy(path).into_owned(), build_id });
        self.object_numbers.insert(key, number);
        number
    }

    fn forget_half(&mut self) {
        let mut sizes: Vec<u64> = self.sums.values().map(|sum| sum.unsigned_abs()).collect();
        let middle = sizes.len() / 2;
        let (_, &mut least, _) = sizes.select_nth_unstable(middle);
        self.sums.retain(|_, sum| sum.unsigned_abs() > least);
    }

    /// Those with the largest sums, in descending order; those of equal sums as `key` orders their contexts, then by object and offset.
    pub(crate) fn largest<'a, K: Ord>(&'a self, most: usize, key: impl Fn(C) -> K) -> Vec<Sum<'a, C>> {
        let sum = |(place, &sum): (&Place<C>, &i64)| Sum {
            context: place.context,
            object: self.objects.get(place.object as usize),
            offset: place.offset,
            sum,
        };
        let mut sums: Vec<Sum<'a, C>> = self.sums.iter().filter(|(_, sum)| **sum != 0).map(sum).collect();
        let rest = |&Sum { context, object, offset, .. }: &Sum<'a, C>| (key(context), object, offset);
        sums.sort_by(|a, b| b.sum.cmp(&a.sum).then_with(|| rest(a).cmp(&rest(b))));
        sums.truncate(most);
        sums
    }
}
