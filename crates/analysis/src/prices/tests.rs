use switchcost_record::prices::Price;

use super::*;
use crate::testing::assert_within;

const OWN: u64 = 12 << 10;

fn price(kind: Kind, own: u64, away_bytes: Bytes, ns: f64) -> Price {
    Price {
        kind,
        own_bytes: Bytes(own),
        away_bytes,
        ns,
        low_ns: ns,
        high_ns: ns,
        n: 8,
    }
}

fn some_prices() -> LinePrices {
    let away = Bytes::mib(4);
    LinePrices::new(&Prices::new(vec![
        price(Kind::Dependent, OWN, away, 8.0),
        price(Kind::Dependent, OWN, Bytes::mib(1), 4.0),
        price(Kind::Dependent, 4 * OWN, away, 16.0),
        price(Kind::Gathered, OWN, away, 1.0),
        price(Kind::Sequential, OWN, away, 0.25),
    ]))
}

#[test]
fn each_line_costs_the_price_of_its_kind_and_half_of_the_loads_that_come_alone_wait() {
    let found = |kind| some_prices().ns(kind, OWN as f64, Bytes::mib(4));
    assert_eq!(found(Kind::Dependent), [1.0, (8.0 + 1.0) / 2.0, 8.0]);
    // Gathered lines may be prefetched as sequential ones are.
    assert_eq!(found(Kind::Gathered), [0.25, 1.0, 8.0]);
    assert_eq!(found(Kind::Sequential), [0.25; 3]);
    // A chained line likely costs as much as one of a pointer chase.
    assert_eq!(found(Kind::Chained), [1.0, 8.0, 8.0]);
    // A kind without a price costs as much as a dependent load.
    assert_eq!(found(Kind::Code), [8.0; 3]);
}

#[test]
fn the_interval_of_a_line_contains_the_prices_with_few_and_with_many_instructions() {
    let away = Bytes::mib(4);
    let price = |kind, ns| price(kind, OWN, away, ns);
    let prices = LinePrices::new(&Prices::new(vec![
        price(Kind::Sequential, 0.5),
        price(Kind::SequentialSpaced, 0.125),
        price(Kind::Gathered, 1.0),
        price(Kind::GatheredSpaced, 0.25),
        price(Kind::Dependent, 8.0),
    ]));
    let found = |kind| prices.ns(kind, OWN as f64, away);
    assert_eq!(found(Kind::Sequential), [0.125, 0.5, 0.5]);
    assert_eq!(found(Kind::SequentialSpaced), [0.125, 0.125, 0.5]);
    assert_eq!(found(Kind::Gathered), [0.125, 1.0, 8.0]);
    assert_eq!(found(Kind::GatheredSpaced), [0.125, 0.25, 8.0]);
    // Older files have no prices of spaced lines.
    let older = some_prices().ns(Kind::SequentialSpaced, OWN as f64, away);
    assert_eq!(older, [0.25; 3]);
}

#[test]
fn between_sizes_and_footprints_prices_go_straight_by_doublings() {
    for (own, away_kib, price) in [
        (2 * OWN, 4096, 12.0),
        (OWN, 2048, 6.0),
        (OWN, 512, 2.0),
        (OWN, 0, 0.0),
        (32 << 20, 64 << 10, 16.0),
    ] {
        let [.., high] = some_prices().ns(Kind::Dependent, own as f64, Bytes::kib(away_kib));
        assert_within(high, price, 1e-9);
    }
}

#[test]
fn a_price_that_cannot_be_distinguished_from_nothing_is_none() {
    let noise = Price {
        low_ns: -25.0,
        high_ns: 2.0,
        ..price(Kind::Stored, OWN, Bytes::mib(4), -11.0)
    };
    let found = LinePrices::new(&Prices::new(vec![noise]));
    let found = found.ns(Kind::Stored, OWN as f64, Bytes::mib(4));
    assert_eq!(found, [0.0, 0.0, 2.0]);
}
