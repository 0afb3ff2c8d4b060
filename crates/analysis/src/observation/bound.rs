use ::observation::{Calibration, Load};
use record::{HostManifest, TlbKind};

use crate::bounds::data_caches;

/// What reloading can cost at most behind one switch, in whatever order a task touches its memory.
///
/// A line that is loaded from some level or from memory displaces at most one line of each level above, which comes back at worst by a
/// load on which all that follows depends. So a switch costs no more than all lines of the task that caches can hold take, one behind
/// another with empty caches; and no more than the lines that others had the time to load, at the fastest, times such a load each.
/// Translations are lost without anybody's loading anything: to either comes a load with a walk of page tables for each page that
/// the TLBs can hold, and what the kernel itself touches at a switch.
pub(super) struct Bound<'a> {
    loads: &'a [Load],
    line_bytes: f64,
    page_bytes: f64,
    /// All caches of a core together, in bytes.
    caches: f64,
    /// The first ones for data and for code, which the kernel's way through a switch may displace.
    nearest: f64,
    /// Bytes of pages that the TLBs hold.
    tlb_reach: f64,
    /// The dearest load against the fastest from where it comes from.
    ratio: f64,
}

impl Bound<'_> {
    /// None where it was not measured.
    pub(super) fn of<'a>(calibration: &'a Calibration, host: &HostManifest) -> Option<Bound<'a>> {
        let loads = calibration.loads.as_slice();
        let caches = data_caches(host);
        let nearest = *caches.first()?;
        let tlb_reach = tlb_reach(host);
        loads.iter().find_map(|load| load.emptied_by_page_ns)?;
        Some(Bound {
            loads,
            line_bytes: nearest.line_bytes.0.max(1) as f64,
            page_bytes: host.page_bytes.0.max(1) as f64,
            caches: levels(host).into_iter().sum(),
            nearest: 2.0 * nearest.size_bytes.0 as f64,
            tlb_reach,
            ratio: ratio(loads, tlb_reach)?,
        })
    }

    /// Of a task with so much memory, behind a switch in which others ran for so long; without an end of either where it is not known.
    pub(super) fn at_most(&self, bytes: f64, others_ns: f64) -> f64 {
        let line = |load: &Load| load.emptied_ns;
        let all = self.total(bytes.min(self.caches), self.line_bytes, line);
        let translations =
            self.total(bytes.min(self.tlb_reach), self.page_bytes, |load: &Load| load.emptied_by_page_ns);
        all.min(others_ns * self.ratio) + translations + self.total(self.nearest, self.line_bytes, line)
    }

    /// How many bytes of pages may have been touched without a mark, where translations stay in the TLBs.
    pub(super) fn unmarked(&self) -> f64 {
        self.tlb_reach
    }

    /// What one load of each `unit` of so many bytes takes: in a straight line between two sizes, since larger memory is dearer by the
    /// load, and beyond the last as dear as there.
    fn total(&self, bytes: f64, unit: f64, each: impl Fn(&Load) -> Option<f64>) -> f64 {
        let (mut before, mut value) = (0.0, 0.0);
        for (end, each) in self.loads.iter().filter_map(|load| Some((load.size_bytes.0 as f64, each(load)?))) {
            let next = (end / unit * each).max(value);
            if bytes <= end {
                return value + (next - value) * (bytes - before) / (end - before);
            }
            (before, value) = (end, next);
        }
        if before > 0.0 { value * (bytes / before) } else { f64::INFINITY }
    }
}

/// Loads that find the translation, against loads in order from the same place: of each size that stays in the TLBs, and with empty caches
/// against the largest size, which is in memory.
fn ratio(loads: &[Load], tlb_reach: f64) -> Option<f64> {
    let is_translated = |load: &&Load| load.size_bytes.0 as f64 <= tlb_reach;
    let from_memory = loads.iter().filter_map(|load| load.in_order_ns).next_back()?;
    let emptied = loads.iter().filter(is_translated).filter_map(|load| load.emptied_ns).reduce(f64::max)?;
    let settled = loads.iter().filter(is_translated).filter_map(|load| Some(load.chase_ns / load.in_order_ns?));
    Some(settled.fold(emptied / from_memory, f64::max))
}

/// The largest TLB for data times the machine's usual page; without an end where it is not known.
fn tlb_reach(host: &HostManifest) -> f64 {
    let tlbs = host.tlbs.known().map(Vec::as_slice).unwrap_or_default();
    let of_data = tlbs.iter().filter(|tlb| tlb.kind != TlbKind::Instruction && tlb.page_bytes == host.page_bytes);
    of_data.map(|tlb| tlb.reach().0).max().map_or(f64::INFINITY, |reach| reach as f64)
}

/// The size of the largest cache of each level that holds data.
fn levels(host: &HostManifest) -> Vec<f64> {
    let mut levels: Vec<(u32, f64)> = Vec::new();
    for cache in data_caches(host) {
        match levels.last_mut() {
            Some((level, size)) if *level == cache.level => *size = size.max(cache.size_bytes.0 as f64),
            _ => levels.push((cache.level, cache.size_bytes.0 as f64)),
        }
    }
    levels.into_iter().map(|(_, size)| size).collect()
}

#[cfg(test)]
mod tests {
    use units::Bytes;

    use super::*;
    use crate::testing::host;

    fn load(size: Bytes, chase: f64, emptied: Option<[f64; 2]>, in_order: f64) -> Load {
        Load {
            size_bytes: size,
            chase_ns: chase,
            emptied_ns: emptied.map(|[line, _]| line),
            emptied_by_page_ns: emptied.map(|[_, page]| page),
            in_order_ns: Some(in_order),
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
                load(Bytes::kib(64), 2.0, Some([100.0, 300.0]), 0.5),
                load(Bytes::mib(2), 20.0, Some([100.0, 300.0]), 0.625),
                load(Bytes::mib(16), 200.0, Some([200.0, 400.0]), 1.0),
                load(Bytes::mib(64), 300.0, None, 2.0),
            ],
        }
    }

    #[test]
    fn all_lines_come_back_one_behind_another_with_their_pages_and_what_the_kernel_touches() {
        let (calibration, host) = (calibration(), host());
        let bound = Bound::of(&calibration, &host).expect("measured");
        // 1 MiB: 16,384 lines and 256 pages; the kernel: 96 KiB.
        let kernel = 1_536.0 * 100.0;
        assert_eq!(bound.at_most(f64::from(1 << 20), f64::INFINITY), 16_384.0 * 100.0 + 256.0 * 300.0 + kernel);
        // Of 1 GiB no more than 33 MiB and 48 KiB of lines fit the caches, and no more than 8 MiB of pages the TLB.
        let lines = (33.0 * 16_384.0 + 768.0) * 200.0;
        let pages = 512.0 * 300.0 + (4_096.0 * 400.0 - 512.0 * 300.0) * (6.0 / 14.0);
        assert!((bound.at_most(f64::from(1 << 30), f64::INFINITY) - (lines + pages + kernel)).abs() < 1.0);
    }

    #[test]
    fn who_evicts_walks_in_order_and_who_reloads_may_not() {
        let (calibration, host) = (calibration(), host());
        let bound = Bound::of(&calibration, &host).expect("measured");
        // From memory a line takes others 2 ns, and the task up to 100: more than 32 from the last level. The 16 MiB are beyond the TLB.
        assert_eq!(bound.ratio, 50.0);
        let nothing = bound.at_most(f64::from(1 << 20), 0.0);
        assert_eq!(bound.at_most(f64::from(1 << 20), 1_000.0) - nothing, 50_000.0);
    }

    #[test]
    fn without_a_chase_with_empty_caches_there_is_no_bound() {
        let mut older = calibration();
        older.loads.iter_mut().for_each(|load| (load.emptied_ns, load.emptied_by_page_ns) = (None, None));
        assert!(Bound::of(&older, &host()).is_none());
        let before = Calibration { loads: Vec::new(), ..calibration() };
        assert!(Bound::of(&before, &host()).is_none());
    }
}
