use super::*;
use switchcost_units::Bytes;

/// Returns the facts of a guest on an AMD server, as the program recorded them.
fn host() -> HostManifest {
    serde_json::from_str(include_str!("host.json")).expect("a recorded machine")
}

fn made(host: &HostManifest) -> Design {
    host_design(host).expect("enough facts")
}

fn refusal(host: &HostManifest) -> String {
    host_design(host).expect_err("no guess").to_string()
}

fn assert_says(design: &Design, text: &str) {
    assert!(design.source.contains(text), "{}", design.source);
}

#[test]
fn an_amd_guest_gets_its_own_caches_and_tlbs() {
    let design = made(&host());
    assert_eq!(
        (design.name.as_str(), design.title.as_str()),
        ("host", "This machine: AMD EPYC")
    );
    let levels: Vec<_> = design
        .levels
        .iter()
        .map(|l| (l.name.as_str(), l.holds, l.size, l.ways))
        .collect();
    assert_eq!(
        levels,
        [
            ("L1I", Holds::Instructions, Bytes::kib(32), Ways::Count(8)),
            ("L1D", Holds::Data, Bytes::kib(32), Ways::Count(8)),
            ("L2", Holds::Both, Bytes::kib(512), Ways::Count(8)),
            ("L3", Holds::Both, Bytes::mib(32), Ways::Count(16)),
        ]
    );
    let cycles: Vec<_> = design
        .levels
        .iter()
        .map(|l| (l.hit_cycles, l.miss_cycles))
        .collect();
    assert_eq!(cycles, [(0, 0), (0, 0), (14, 0), (50, 300)]);
    let tlbs: Vec<_> = design
        .tlbs
        .iter()
        .map(|t| {
            (
                t.name.as_str(),
                t.entries,
                t.ways,
                t.hit_cycles,
                t.miss_cycles,
            )
        })
        .collect();
    assert_eq!(
        tlbs,
        [
            ("L1-ITLB", 64, Ways::Full, 0, 0),
            ("L1-DTLB", 64, Ways::Full, 0, 0),
            ("L2-ITLB", 512, Ways::Count(8), 7, 30),
            ("L2-DTLB", 2048, Ways::Count(8), 7, 30),
        ]
    );
    assert!(
        design
            .tlbs
            .iter()
            .all(|tlb| tlb.page == Bytes::kib(4) && tlb.on_switch == OnSwitch::Keep)
    );
}

#[test]
fn what_is_assumed_is_said() {
    assert_eq!(
        made(&host()).source,
        "Sizes, lines and ways of caches as this machine reports them. No time of a cycle: this machine does not report the rate of its \
         cores. TLBs as this machine reports them. TLBs kept on a \
         switch: it has address-space ids.\nAssumed: cycles of 14, 50 and 100 for levels 2, 3 and later ones; 300 more for \
         memory; TLBs of the first level fully associative, later ones of 8 ways in 7 cycles; page walk of 30 cycles; LRU; \
         write-back; neither inclusive nor exclusive; no prefetch; the other CPUs leave shared caches to this one."
    );
}

#[test]
fn a_machine_without_address_space_ids_flushes_its_tlbs() {
    let mut host = host();
    host.has_pcid = Fact::Known(false);
    let design = made(&host);
    assert!(
        design
            .tlbs
            .iter()
            .all(|tlb| tlb.on_switch == OnSwitch::Flush)
    );
    assert_says(
        &design,
        "TLBs flushed on a switch: it has no address-space ids.",
    );
    host.has_pcid = Fact::unknown("no cpuinfo");
    let design = made(&host);
    assert_says(&design, "Assumed: TLBs kept on a switch (no cpuinfo).");
}

#[test]
fn a_machine_that_shows_no_tlbs_has_none_and_says_so() {
    let mut host = host();
    host.tlbs = Fact::unknown("the hypervisor hides them");
    let design = made(&host);
    assert_eq!(design.tlbs, []);
    assert_says(
        &design,
        "No TLBs: this machine does not report them (the hypervisor hides them).",
    );
}

#[test]
fn of_tlbs_for_loads_and_stores_the_larger_one_is_taken() {
    let mut host = host();
    let tlb = |level, kind, entries| Tlb {
        level,
        kind,
        entries,
        page_bytes: Bytes::kib(4),
    };
    host.tlbs = Fact::Known(vec![
        tlb(2, TlbKind::Unified, 2048),
        tlb(1, TlbKind::Data, 16),
        tlb(1, TlbKind::Data, 96),
        tlb(1, TlbKind::Instruction, 256),
    ]);
    let design = made(&host);
    let found: Vec<_> = design
        .tlbs
        .iter()
        .map(|t| (t.name.as_str(), t.entries, t.miss_cycles))
        .collect();
    assert_eq!(
        found,
        [
            ("L1-ITLB", 256, 0),
            ("L1-DTLB", 96, 0),
            ("L2-TLB", 2048, 30)
        ]
    );
}

#[test]
fn a_level_that_nothing_is_behind_pays_for_memory() {
    let mut host = host();
    host.caches.retain(|cache| cache.kind != CacheKind::Unified);
    let design = made(&host);
    assert!(design.levels.iter().all(|level| level.miss_cycles == 300));
}

#[test]
fn a_cycle_takes_as_long_as_the_machine_says() {
    let mut host = host();
    host.core_khz = Some([2_500_000, 4_000_000]);
    let design = made(&host);
    assert_eq!(design.cycle_ns, Some([0.25, 0.4]));
    assert_says(&design, "Cores of 2.50 GHz to 4.00 GHz.");
    host.core_khz = None;
    assert_eq!(made(&host).cycle_ns, None);
}

/// Shows that a machine is refused if a file of a cache level is missing; otherwise the third level
/// would be taken for the second.
#[test]
fn a_level_of_which_a_file_is_missing_is_refused_by_the_name_of_the_file() {
    let mut host = host();
    host.caches.retain(|cache| cache.level != 2);
    host.undescribed_caches = vec![
        "/sys/devices/system/cpu/cpu0/cache/index2/size: No such file or directory (os error 2)"
            .to_owned(),
    ];
    assert_eq!(
        refusal(&host),
        "this machine does not report each cache's level, type, size and line (/sys/devices/system/cpu/cpu0/cache/index2/size: No such \
         file or directory (os error 2)); write a design file (docs/formats/design.md), or use a built-in design of a similar machine"
    );
}

#[test]
fn missing_facts_are_named() {
    let mut bare = host();
    bare.caches.clear();
    assert_eq!(
        refusal(&bare),
        "this machine reports no caches; write a design file (docs/formats/design.md), or use a built-in design of a similar \
         machine"
    );
    let mut vague = host();
    vague.caches[2].ways = None;
    assert_eq!(
        refusal(&vague),
        "this machine does not report the associativity of L2; write a design file (docs/formats/design.md), or use a built-in \
         design of a similar machine"
    );
    let mut split = host();
    split.caches.retain(|cache| cache.kind == CacheKind::Data);
    assert_eq!(
        refusal(&split),
        "what this machine reports is not enough for a design: design \"host\": no level holds instructions; add a \
         [[level]] with holds = \"instructions\" or \"both\""
    );
}
