use std::collections::BTreeMap;

use switchcost_record::observation::{CountedTurns, Histogram};
use switchcost_record::profile::{Price, Reused, Spread, SwitchPath};

use switchcost_units::Nanos;

use super::*;

fn row(kind: Kind, age_bytes: Bytes, lines: &[f64]) -> Reused {
    Reused {
        kind,
        age_bytes,
        lines: lines.to_vec(),
    }
}

fn profile(reused: Vec<Reused>) -> Profile {
    Profile {
        reused,
        ..Profile::empty(1024, vec![1024, 4096])
    }
}

fn price(kind: Kind, own_bytes: Bytes, away_bytes: Bytes, ns: f64) -> Price {
    Price {
        kind,
        own_bytes,
        away_bytes,
        ns,
        low_ns: ns,
        high_ns: ns,
        n: 8,
    }
}

fn prices(lines: Vec<Price>) -> Prices {
    let path = |away_bytes, ns| SwitchPath {
        away_bytes,
        ns,
        low_ns: ns,
        high_ns: ns,
    };
    Prices {
        switch_path: vec![path(Bytes::mib(4), 2_400.0), path(Bytes::mib(1), 1_200.0)],
        ..Prices::of(lines)
    }
}

fn some_prices() -> Prices {
    let (own, away) = (Bytes(12 << 10), Bytes::mib(4));
    prices(vec![
        price(Kind::Dependent, own, away, 8.0),
        price(Kind::Dependent, own, Bytes::mib(1), 4.0),
        price(Kind::Dependent, Bytes(48 << 10), away, 16.0),
        price(Kind::Gathered, own, away, 1.0),
        price(Kind::Sequential, own, away, 0.25),
    ])
}

fn near(found: f64, need: f64) {
    assert!((found - need).abs() < 1e-9, "{found} {need}");
}

#[test]
fn each_line_costs_the_price_of_its_kind_and_half_of_the_loads_that_come_alone_wait() {
    let rows = vec![
        row(Kind::Dependent, Bytes::kib(16), &[10.0, 20.0]),
        row(Kind::Gathered, Bytes::kib(16), &[100.0, 100.0]),
        row(Kind::Sequential, Bytes::kib(16), &[40.0, 80.0]),
    ];
    let found = reload(&profile(rows), &some_prices(), Bytes::mib(4), 4096.0);
    near(found.lines, 200.0);
    near(
        found.likely_ns,
        20.0 * (8.0 + 1.0) / 2.0 + 100.0 + 80.0 * 0.25,
    );
    near(found.low_ns, 20.0 + 100.0 + 80.0 * 0.25);
    near(found.high_ns, 120.0 * 8.0 + 80.0 * 0.25);
    near(found.switch_path_ns.expect("a price"), 2_400.0);
    near(found.with_switch_path()[1], found.likely_ns + 2_400.0);
}

#[test]
fn between_times_sizes_and_footprints_prices_go_straight_by_doublings() {
    let found = |age, away, instructions| {
        let rows = vec![row(Kind::Dependent, age, &[10.0, 20.0])];
        reload(&profile(rows), &some_prices(), away, instructions)
    };
    near(found(Bytes::kib(16), Bytes::mib(4), 2048.0).lines, 15.0);
    near(found(Bytes::kib(16), Bytes::mib(4), 512.0).lines, 5.0);
    near(found(Bytes::kib(16), Bytes::mib(4), 1e9).lines, 20.0);
    near(
        found(Bytes::kib(32), Bytes::mib(4), 4096.0).high_ns,
        20.0 * 12.0,
    );
    near(
        found(Bytes::kib(16), Bytes::mib(2), 4096.0).high_ns,
        20.0 * 6.0,
    );
    near(
        found(Bytes::kib(16), Bytes::kib(512), 4096.0).high_ns,
        20.0 * 2.0,
    );
    near(found(Bytes::kib(16), Bytes(0), 4096.0).high_ns, 0.0);
    near(
        found(Bytes::kib(16), Bytes(0), 4096.0)
            .switch_path_ns
            .expect("a price"),
        0.0,
    );
    near(
        found(Bytes::mib(32), Bytes::mib(64), 4096.0).high_ns,
        20.0 * 16.0,
    );
}

#[test]
fn a_kind_without_a_price_is_as_dear_as_any_and_an_unknown_switch_path_is_none() {
    let rows = vec![row(Kind::Code, Bytes::kib(16), &[10.0, 20.0])];
    let prices = Prices {
        switch_path: Vec::new(),
        ..some_prices()
    };
    let found = reload(&profile(rows), &prices, Bytes::mib(4), 4096.0);
    near(found.likely_ns, 20.0 * 8.0);
    assert_eq!(found.switch_path_ns, None);
}

#[test]
fn what_is_known_of_a_program_that_is_observed_is_what_the_model_tells_at_each_footprint_and_time()
{
    let rows = vec![row(Kind::Dependent, Bytes::kib(16), &[10.0, 20.0])];
    let spread = |p90| Spread {
        mean: 9.0,
        p10: 1.0,
        p50: 2.0,
        p90,
    };
    let profile = Profile {
        lines: vec![spread(30.0), spread(5.0)],
        ..profile(rows)
    };
    let rate = InstructionRate::new(&CountedTurns::default());
    let points = points(&profile, &some_prices(), rate);
    let found: Vec<(u64, u64, f64)> = points
        .iter()
        .map(|point| (point.away_bytes.0 >> 20, point.ran_ns.0, point.cost.ns))
        .collect();
    assert_eq!(
        found,
        [
            (1, 4096, 10.0 * (4.0 + 0.25) + 1_200.0),
            (4, 4096, 10.0 * (8.0 + 1.0) + 2_400.0)
        ]
    );
    let most: Vec<(u64, f64)> = most_lines(&profile, rate)
        .iter()
        .map(|most| (most.ran_ns.0, most.lines))
        .collect();
    // A few cuts may use more than nine of ten do: the mean of all is no less.
    assert_eq!(most, [(21, 30.0), (85, 9.0)]);
    // 2 a nanosecond, and 4 in the turn with the most.
    let counted = CountedTurns {
        ran_ns: Nanos(500),
        events: BTreeMap::from([("instructions".to_owned(), 1_000)]),
        most_instructions_per_us: 3_999,
        instructions: Histogram::default(),
    };
    let rate = InstructionRate::new(&counted);
    assert_eq!(
        self::points(&profile, &some_prices(), rate)[0].ran_ns.0,
        2_048
    );
    assert_eq!(most_lines(&profile, rate)[0].ran_ns.0, 256);
}

#[test]
fn a_price_that_cannot_be_distinguished_from_nothing_is_none() {
    let noise = Price {
        ns: -11.0,
        low_ns: -25.0,
        high_ns: 2.0,
        ..price(Kind::Stored, Bytes(12 << 10), Bytes::mib(4), 0.0)
    };
    let rows = vec![row(Kind::Stored, Bytes::kib(16), &[10.0, 20.0])];
    let found = reload(&profile(rows), &prices(vec![noise]), Bytes::mib(4), 4096.0);
    assert_eq!(
        (found.low_ns, found.likely_ns, found.high_ns),
        (0.0, 0.0, 40.0)
    );
}
