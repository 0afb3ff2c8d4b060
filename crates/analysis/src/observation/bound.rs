use schemars::JsonSchema;
use serde::Serialize;
use switchcost_record::observation::{Calibration, Load};
use switchcost_record::{HostManifest, TlbKind};

use crate::measurement::bounds::data_caches;

/// What reloading can cost at most behind one switch, in whatever order a task touches its memory.
///
/// The lines that it lost are no more than it can have had in the caches, and no more than others could evict in the time that they
/// had; each comes back by a load on which all that follows depends. There are two places:
///
/// - *near*, the caches of the core alone. A task that loads a line displaces one there, be it the task's. What was lost is found in the
///   last level.
/// - *far*, the last level, whose sets are filled evenly, since they are chosen by a hash of the address. A walk through the
///   n-th part of it takes the n-th part of what the task has there at most, be the victim the oldest line or any. What was lost is
///   found in memory.
///
/// The kernel's way through the switch is one of the others, for as long as the switch takes; and of the task, with as many lines as
/// the first caches for data and code hold.
pub(super) struct Bound {
    prices: Prices,
    line_bytes: f64,
    page_bytes: f64,
    near_bytes: f64,
    kernel_bytes: f64,
    /// Bytes of pages that the TLBs hold.
    tlb_reach: f64,
    /// Whether translations may be lost with each switch of the address space.
    forgets_translations: bool,
}

/// What the upper end is made of, for this machine.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Prices {
    /// A line from the last level, where each load waits for the one before, in nanoseconds.
    pub near_ns: f64,
    /// A line from memory in the same way, by size of what the task has there, smallest first.
    pub far: Vec<Far>,
    /// Walking the page tables for a load, as so many such loads.
    pub walk: f64,
    /// In so many nanoseconds others load a line out of the last level, at the fastest.
    pub stream_near_ns: f64,
    /// In so many nanoseconds others load a line out of memory, at the fastest.
    pub stream_far_ns: f64,
    /// What of the last level one program has: how much of it a chase was seen to find there.
    pub last_bytes: f64,
}

/// What a line from memory takes.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Far {
    /// Size of the memory.
    pub size_bytes: u64,
    /// One line, in nanoseconds.
    pub line_ns: f64,
}

/// What kept the upper end of a switch from being more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// The memory that the task has.
    Memory,
    /// What the caches of a core hold.
    Caches,
    /// What others could evict in the time that they ran.
    Others,
    /// The lines that its profile uses within the time until its next switch: a limit if it runs as it was traced.
    Profile,
    /// The CPU time of the task until its next switch.
    Turn,
    /// The upper end of what `inject` measured.
    Inject,
}

/// What a task may have in the caches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Footprint {
    /// Memory that it may touch.
    pub(super) bytes: f64,
    /// Lines that it uses at most, each in a page of its own maybe, by its profile; without an end where there is none.
    pub(super) lines: f64,
}

/// An upper end for one switch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct AtMost {
    pub(super) ns: f64,
    pub(super) limit: Limit,
}

impl Bound {
    /// None where it was not measured.
    pub(super) fn of(calibration: &Calibration, host: &HostManifest) -> Option<Bound> {
        let levels = levels(host);
        let first = *data_caches(host).first()?;
        let (last, near) = levels.split_last()?;
        // Of a single level all is near, and memory behind it.
        let near_bytes = if near.is_empty() {
            *last
        } else {
            near.iter().sum()
        };
        Some(Bound {
            prices: Prices::of(
                &calibration.loads,
                near_bytes,
                if near.is_empty() { 0.0 } else { *last },
            )?,
            line_bytes: first.line_bytes.0.max(1) as f64,
            page_bytes: host.page_bytes.0.max(1) as f64,
            near_bytes,
            kernel_bytes: 2.0 * first.size_bytes.0 as f64,
            tlb_reach: tlb_reach(host),
            forgets_translations: host.has_pcid.known() != Some(&true),
        })
    }

    pub(super) fn prices(&self) -> &Prices {
        &self.prices
    }

    /// Of a task with so much memory, behind a switch in which others and the kernel ran for so long; without an end of either where it
    /// is not known.
    pub(super) fn at_most(
        &self,
        Footprint {
            bytes,
            lines: profiled,
        }: Footprint,
        others_ns: f64,
    ) -> AtMost {
        let pages = (bytes.min(self.tlb_reach) / self.page_bytes).min(profiled);
        let own = bytes / self.line_bytes;
        let lines = own.min(profiled) + self.kernel_bytes / self.line_bytes;
        let (held, evicted) = (
            self.near_bytes / self.line_bytes,
            others_ns / self.prices.stream_near_ns,
        );
        let near = lines.min(held).min(evicted);
        let walks = if self.forgets_translations {
            pages
        } else {
            pages.min(evicted)
        };
        let far = self.far_share(others_ns);
        let far_lines =
            lines.min((self.near_bytes + self.prices.last_bytes) / self.line_bytes) * far;
        let far_ns = self.prices.far_ns(bytes);
        let limit = match () {
            () if evicted <= lines.min(held) => Limit::Others,
            () if lines > held => Limit::Caches,
            () if profiled < own => Limit::Profile,
            () => Limit::Memory,
        };
        let walked = self.prices.walk * walks;
        AtMost {
            ns: (near + walked) * self.prices.near_ns + (far_lines + walked * far) * far_ns,
            limit,
        }
    }

    /// The part of what the task has in the last level that others can have taken.
    fn far_share(&self, others_ns: f64) -> f64 {
        let evicted_bytes = others_ns / self.prices.stream_far_ns * self.line_bytes;
        (evicted_bytes / self.prices.last_bytes.max(self.line_bytes)).min(1.0)
    }
}

impl Prices {
    fn of(loads: &[Load], near_bytes: f64, last_bytes: f64) -> Option<Prices> {
        let far: Vec<Far> = loads
            .iter()
            .filter_map(|load| {
                Some(Far {
                    size_bytes: load.size_bytes.0,
                    line_ns: load.emptied_ns?,
                })
            })
            .collect();
        let in_order = |is: &dyn Fn(f64) -> bool| {
            let of = loads
                .iter()
                .filter(|load| is(load.size_bytes.0 as f64))
                .filter_map(|load| load.in_order_ns);
            of.reduce(f64::min)
        };
        let stream_far_ns =
            in_order(&|size| size > near_bytes + last_bytes).or_else(|| in_order(&|_| true))?;
        let stream_near_ns =
            in_order(&|size| size > near_bytes && size <= last_bytes).unwrap_or(stream_far_ns);
        let memory_ns = loads.last()?.chase_ns;
        let dearest = far.iter().map(|far| far.line_ns).reduce(f64::max)?;
        let near_ns = found_behind(loads, near_bytes)
            .unwrap_or(dearest)
            .min(dearest);
        let walk = loads
            .iter()
            .filter_map(|load| Some(load.emptied_by_page_ns? / load.emptied_ns? - 1.0));
        Some(Prices {
            near_ns,
            far,
            walk: walk.fold(1.0, f64::max),
            stream_near_ns,
            stream_far_ns,
            last_bytes: found_in(loads, near_ns, memory_ns).min(last_bytes).max(0.0),
        })
    }

    /// A line from memory, of a task with so much memory: in a straight line between two sizes.
    fn far_ns(&self, bytes: f64) -> f64 {
        let (mut before, mut value): (f64, Option<f64>) = (0.0, None);
        for far in &self.far {
            let end = far.size_bytes as f64;
            if bytes <= end {
                let from = value.unwrap_or(far.line_ns);
                return from + (far.line_ns - from) * (bytes - before) / (end - before);
            }
            (before, value) = (end, Some(far.line_ns));
        }
        value.unwrap_or(f64::INFINITY)
    }
}

/// What a load takes that misses the near caches: that of a chase through memory that is larger than they are, without those that they
/// still serve, which are as many as they hold at most.
fn found_behind(loads: &[Load], near_bytes: f64) -> Option<f64> {
    let size = |load: &Load| load.size_bytes.0 as f64;
    let hit = loads
        .iter()
        .filter(|load| size(load) <= 0.5 * near_bytes)
        .map(|load| load.chase_ns)
        .next_back()?;
    let beyond = loads.iter().find(|load| size(load) >= 1.5 * near_bytes)?;
    let served = near_bytes / size(beyond);
    Some((beyond.chase_ns - served * hit) / (1.0 - served)).filter(|ns| *ns >= beyond.chase_ns)
}

/// How many bytes of a chase were found in some cache, at the most.
fn found_in(loads: &[Load], near_ns: f64, memory_ns: f64) -> f64 {
    let found = |load: &Load| {
        let share = ((memory_ns - load.chase_ns) / (memory_ns - near_ns)).clamp(0.0, 1.0);
        if share.is_finite() {
            share * load.size_bytes.0 as f64
        } else {
            0.0
        }
    };
    loads.iter().map(found).fold(0.0, f64::max)
}

/// The largest TLB for data times the machine's usual page; without an end where it is not known.
fn tlb_reach(host: &HostManifest) -> f64 {
    if host.doubted_tlb().is_some() {
        return f64::INFINITY;
    }
    let tlbs = host.plausible_tlbs();
    let of_data = tlbs
        .iter()
        .filter(|tlb| tlb.kind != TlbKind::Instruction && tlb.page_bytes == host.page_bytes);
    of_data
        .map(|tlb| tlb.reach().0)
        .max()
        .map_or(f64::INFINITY, |reach| reach as f64)
}

/// The size of the largest cache of each level that holds data.
fn levels(host: &HostManifest) -> Vec<f64> {
    let mut levels: Vec<(u32, f64)> = Vec::new();
    for cache in data_caches(host) {
        match levels.last_mut() {
            Some((level, size)) if *level == cache.level => {
                *size = size.max(cache.size_bytes.0 as f64)
            }
            _ => levels.push((cache.level, cache.size_bytes.0 as f64)),
        }
    }
    levels.into_iter().map(|(_, size)| size).collect()
}

#[cfg(test)]
mod tests {
    use switchcost_record::Fact;
    use switchcost_units::Bytes;

    use super::*;
    use crate::testing::host;

    fn load(size_bytes: Bytes, chase_ns: f64, emptied: Option<[f64; 2]>, in_order_ns: f64) -> Load {
        let [emptied_ns, emptied_by_page_ns] = [0, 1].map(|at| emptied.map(|both| both[at]));
        Load {
            size_bytes,
            chase_ns,
            emptied_ns,
            emptied_by_page_ns,
            in_order_ns: Some(in_order_ns),
        }
    }

    /// The fake machine: L1d 48 KiB, L2 1 MiB, L3 32 MiB, lines of 64 B, 2,048 pages of 4 KiB in the TLB.
    fn calibration() -> Calibration {
        Calibration {
            measured_at: String::new(),
            blocked: None,
            yielded: None,
            preempted: None,
            reloads: Vec::new(),
            loads: vec![
                load(Bytes::kib(64), 20.0, Some([100.0, 300.0]), 0.5),
                load(Bytes::mib(2), 20.0, Some([100.0, 300.0]), 1.0),
                load(Bytes::mib(16), 200.0, Some([200.0, 400.0]), 1.5),
                load(Bytes::mib(64), 200.0, None, 2.0),
            ],
        }
    }

    fn memory(bytes: f64) -> Footprint {
        Footprint {
            bytes,
            lines: f64::INFINITY,
        }
    }

    fn bound() -> Bound {
        let host = switchcost_record::HostManifest {
            has_pcid: Fact::Known(true),
            ..host()
        };
        Bound::of(&calibration(), &host).expect("measured")
    }

    #[test]
    fn prices_are_of_where_a_line_is_found() {
        let prices = bound().prices;
        assert_eq!(
            (prices.near_ns, prices.stream_near_ns, prices.stream_far_ns),
            (20.0, 1.0, 2.0)
        );
        // Of a chase through 16 MiB nothing was found in the last level: only of 2 MiB it is known.
        assert_eq!((prices.walk, prices.last_bytes), (2.0, f64::from(2 << 20)));
        assert_eq!(
            [1.0, 2.0, 9.0, 100.0].map(|mib| prices.far_ns(mib * 1_048_576.0)),
            [100.0, 100.0, 150.0, 200.0]
        );
    }

    #[test]
    fn a_chase_that_the_near_caches_still_serve_in_part_tells_what_the_rest_of_it_takes() {
        // Of 128 lines 64 take 2 ns, and the others 18.
        let loads = [
            load(Bytes(1 << 10), 2.0, None, 1.0),
            load(Bytes(8 << 10), 10.0, None, 1.0),
        ];
        assert_eq!(found_behind(&loads, f64::from(4 << 10)), Some(18.0));
        assert_eq!(found_behind(&loads[..1], f64::from(4 << 10)), None);
    }

    #[test]
    fn who_had_no_time_evicts_nothing_and_who_had_some_no_more_than_it_could_load() {
        let bound = bound();
        assert_eq!(
            bound.at_most(memory(f64::from(1 << 20)), 0.0),
            AtMost {
                ns: 0.0,
                limit: Limit::Others
            }
        );
        // 1,000 lines out of the last level displace 1,000 near ones and take 256 pages; 500 out of memory displace a part of what
        // 2 MiB hold.
        let share = 500.0 / 32_768.0;
        let (lines, walks) = ((1u32 << 20) as f64 / 64.0 + 1_536.0, 2.0 * 256.0);
        let expected = (1_000.0 + walks) * 20.0 + (lines + walks) * share * 100.0;
        let found = bound.at_most(memory(f64::from(1 << 20)), 1_000.0);
        assert!(
            (found.ns - expected).abs() < 1e-6 && found.limit == Limit::Others,
            "{found:?} is not {expected}"
        );
    }

    #[test]
    fn a_task_loses_no_more_than_it_has_and_than_caches_hold() {
        let bound = bound();
        // 16 KiB and what the kernel touches: 256 lines, 4 pages, and 1,536 lines, all from memory.
        let all = (1_792.0 + 8.0) * (20.0 + 100.0);
        assert_eq!(
            bound.at_most(memory(f64::from(16 << 10)), f64::INFINITY),
            AtMost {
                ns: all,
                limit: Limit::Memory
            }
        );
        let [large, larger] =
            [30, 31].map(|log| bound.at_most(memory(f64::from(1u32 << log)), f64::INFINITY));
        assert_eq!((large, large.limit), (larger, Limit::Caches));
    }

    #[test]
    fn a_task_of_few_lines_loses_those_each_with_its_page_and_what_the_kernel_touches() {
        let few = Footprint {
            bytes: f64::from(1 << 20),
            lines: 100.0,
        };
        let all = ((100.0 + 1_536.0) + 2.0 * 100.0) * (20.0 + 100.0);
        assert_eq!(
            bound().at_most(few, f64::INFINITY),
            AtMost {
                ns: all,
                limit: Limit::Profile
            }
        );
        let more = Footprint {
            lines: 20_000.0,
            ..few
        };
        assert_eq!(
            bound().at_most(more, f64::INFINITY),
            bound().at_most(memory(more.bytes), f64::INFINITY)
        );
    }

    #[test]
    fn a_tlb_that_does_not_tell_address_spaces_apart_forgets_all_at_once() {
        let mut bound = bound();
        let kept = bound.at_most(memory(f64::from(1 << 20)), 100.0).ns;
        bound.forgets_translations = true;
        let pages = 2.0 * (256.0 - 100.0);
        let share = 50.0 / 32_768.0;
        assert!(
            (bound.at_most(memory(f64::from(1 << 20)), 100.0).ns
                - kept
                - pages * (20.0 + share * 100.0))
                .abs()
                < 1e-6
        );
    }

    #[test]
    fn without_a_chase_with_empty_caches_there_is_no_bound() {
        let mut older = calibration();
        older
            .loads
            .iter_mut()
            .for_each(|load| (load.emptied_ns, load.emptied_by_page_ns) = (None, None));
        assert!(Bound::of(&older, &host()).is_none());
        let before = Calibration {
            loads: Vec::new(),
            ..calibration()
        };
        assert!(Bound::of(&before, &host()).is_none());
    }
}
