use switchcost_record::profile::{Price, Reused, SwitchPath};

use super::*;
use crate::testing::assert_within;

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
        ..Prices::new(lines)
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
    assert_within(found, need, 1e-9);
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
fn a_chained_line_likely_costs_as_much_as_one_of_a_pointer_chase() {
    let rows = vec![row(Kind::Chained, Bytes::kib(16), &[10.0, 20.0])];
    let found = reload(&profile(rows), &some_prices(), Bytes::mib(4), 4096.0);
    near(found.low_ns, 20.0);
    near(found.likely_ns, 20.0 * 8.0);
    near(found.high_ns, 20.0 * 8.0);
}

#[test]
fn between_times_sizes_and_footprints_prices_go_straight_by_doublings() {
    let found = |age, away, instructions| {
        let rows = vec![row(Kind::Dependent, Bytes::kib(age), &[10.0, 20.0])];
        reload(
            &profile(rows),
            &some_prices(),
            Bytes::kib(away),
            instructions,
        )
    };
    for (instructions, lines) in [(2048.0, 15.0), (512.0, 5.0), (1e9, 20.0)] {
        near(found(16, 4096, instructions).lines, lines);
    }
    for (age, away, price) in [
        (32, 4096, 12.0),
        (16, 2048, 6.0),
        (16, 512, 2.0),
        (16, 0, 0.0),
        (32 << 10, 64 << 10, 16.0),
    ] {
        near(found(age, away, 4096.0).high_ns, 20.0 * price);
    }
    near(found(16, 0, 4096.0).switch_path_ns.expect("a price"), 0.0);
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
