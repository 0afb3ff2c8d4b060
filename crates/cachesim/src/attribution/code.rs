//! Attribution of excess cycles to code: by program, cause and place.

use std::collections::HashMap;

use simulation_result::CodeCost;

use crate::mappings::Mappings;

/// Blocks whose excess is added up before their place is looked up; a power of two.
const SLOTS: usize = 1024;
/// Bounds the memory: where there are more places, the half with the least excess is forgotten.
const MOST_PLACES: usize = 1 << 20;
const NO_OBJECT: u32 = u32::MAX;

/// Where code runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Context {
    pub(crate) program: u32,
    pub(crate) cause: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Place {
    context: Context,
    object: u32,
    offset: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    address: u64,
    excess: i64,
}

/// The excess cycles of one design, by the code that they are attributed to.
#[derive(Debug, Default)]
pub(crate) struct Attribution {
    slots: Vec<Slot>,
    used: Vec<u16>,
    places: HashMap<Place, i64>,
    /// Path and build ID, in hexadecimal.
    objects: Vec<(String, Option<String>)>,
    object_numbers: HashMap<(Vec<u8>, Vec<u8>), u32>,
}

impl Attribution {
    pub(crate) fn new() -> Attribution {
        Attribution {
            slots: vec![Slot::default(); SLOTS],
            used: Vec::new(),
            places: HashMap::new(),
            objects: Vec::new(),
            object_numbers: HashMap::new(),
        }
    }

    /// A block took longer (or less long) than with a machine of its own.
    #[inline]
    pub(crate) fn add(&mut self, address: u64, excess: i64, context: Context, mappings: &Mappings) {
        let at = (address ^ address >> 10) as usize & (SLOTS - 1);
        let slot = self.slots[at];
        if slot.excess != 0 && slot.address != address {
            self.enter(slot, context, mappings);
            self.slots[at] = Slot { address, excess };
            return;
        }
        if slot.excess == 0 {
            self.used.push(at as u16);
        }
        self.slots[at] = Slot { address, excess: slot.excess + excess };
    }

    /// Looks the places up, before the context or the mappings change.
    pub(crate) fn settle(&mut self, context: Context, mappings: &Mappings) {
        let mut used = std::mem::take(&mut self.used);
        for at in used.drain(..) {
            let slot = std::mem::take(&mut self.slots[usize::from(at)]);
            if slot.excess != 0 {
                self.enter(slot, context, mappings);
            }
        }
        self.used = used;
    }

    fn enter(&mut self, slot: Slot, context: Context, mappings: &Mappings) {
        let (object, offset) = match mappings.find(slot.address) {
            Some((mapping, offset)) if !mapping.path.is_empty() => {
                (self.object(&mapping.path, &mapping.build_id), offset)
            }
            _ => (NO_OBJECT, slot.address),
        };
        *self.places.entry(Place { context, object, offset }).or_default() += slot.excess;
        if self.places.len() > MOST_PLACES {
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
        self.objects.push((String::from_utf8_lossy(path).into_owned(), build_id));
        self.object_numbers.insert(key, number);
        number
    }

    fn forget_half(&mut self) {
        let mut sizes: Vec<u64> = self.places.values().map(|excess| excess.unsigned_abs()).collect();
        let middle = sizes.len() / 2;
        let (_, &mut least, _) = sizes.select_nth_unstable(middle);
        self.places.retain(|_, excess| excess.unsigned_abs() > least);
    }

    /// The places with the most excess, in descending order.
    pub(crate) fn into_costs(self, most: usize, programs: impl Fn(u32) -> String) -> Vec<CodeCost> {
        let cost = |(place, excess_cycles): (&Place, &i64)| {
            let object = self.objects.get(place.object as usize);
            CodeCost {
                program: programs(place.context.program),
                cause: place.context.cause,
                object: object.map(|object| object.0.clone()),
                build_id: object.and_then(|object| object.1.clone()),
                offset: place.offset,
                function: None,
                line: None,
                excess_cycles: *excess_cycles,
            }
        };
        let mut costs: Vec<CodeCost> = self.places.iter().filter(|(_, excess)| **excess != 0).map(cost).collect();
        let place = |cost: &CodeCost| {
            (cost.program.clone(), cost.cause, cost.object.clone(), cost.build_id.clone(), cost.offset)
        };
        costs.sort_by(|a, b| b.excess_cycles.cmp(&a.excess_cycles).then_with(|| place(a).cmp(&place(b))));
        costs.truncate(most);
        costs
    }
}
