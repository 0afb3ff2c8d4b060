use strum::IntoEnumIterator;

use super::{SETS, step_name};
use crate::testing::simulated;
use crate::{Cell, Claim, Exhibit, Paper, Records, Shape};

/// The sample as the record of every trial, with four designs of its one, whose costs and overheads are as given: by
/// set, then in the order 1a, 2a, 1b, 2b.
fn records(costs: [[f64; 4]; 3], overheads: [[f64; 4]; 3]) -> Records {
    let (head, findings) = simulated();
    let mut records = Records::default();
    for (place, set) in SETS.iter().enumerate() {
        for trial in 1..=2 {
            let mut findings = findings.clone();
            let like = findings.designs[0].clone();
            findings.designs = super::DESIGNS
                .iter()
                .enumerate()
                .map(|(number, name)| {
                    let mut design = like.clone();
                    design.name = format!("mogul-{name}");
                    design.average_cost_cycles.estimate = Some(costs[place][number]);
                    design.overhead = Some(overheads[place][number]);
                    design
                })
                .collect();
            records.add_simulated(&step_name(set, trial), head.clone(), findings);
        }
    }
    records
}

const COSTS: [[f64; 4]; 3] =
    [[10_000.0, 24_500.0, 5500.0, 12_500.0], [4300.0, 11_700.0, 1700.0, 9200.0], [186.0, 261.0, 186.0, 143.0]];
const OVERHEADS: [[f64; 4]; 3] =
    [[0.071, 0.078, 0.039, 0.053], [0.015, 0.015, 0.006, 0.021], [0.027, 0.035, 0.027, 0.02]];

fn exhibit(records: &Records, name: &str) -> Exhibit {
    let exhibits = Paper::Mogul1990.exhibits(records);
    exhibits.into_iter().find(|exhibit| exhibit.name == name).expect("an exhibit of this name")
}

fn verdicts(exhibit: &Exhibit) -> Vec<bool> {
    exhibit.claims.iter().map(|claim| claim.shape == Shape::Holds).collect()
}

#[test]
fn the_papers_own_numbers_show_what_the_paper_says() {
    let records = records(COSTS, OVERHEADS);
    assert_eq!(verdicts(&exhibit(&records, "Table 4")), [true; 6]);
    assert_eq!(verdicts(&exhibit(&records, "Figure 8")), [true]);
    assert_eq!(verdicts(&exhibit(&records, "Figure 9")), [true; 2]);
}

#[test]
fn other_numbers_do_not() {
    let mut costs = COSTS;
    costs.swap(0, 2);
    let swapped = records(costs, OVERHEADS);
    assert!(matches!(exhibit(&swapped, "Table 4").claims[0].shape, Shape::Differs(_)));
    let mut overheads = OVERHEADS;
    overheads[0] = [0.039, 0.02, 0.071, 0.053];
    let swapped = records(COSTS, overheads);
    assert_eq!(verdicts(&exhibit(&swapped, "Figure 8")), [false]);
    assert_eq!(verdicts(&exhibit(&swapped, "Figure 9")), [false; 2]);
}

#[test]
fn table_4_has_every_published_row_and_every_trial() {
    let table = exhibit(&records(COSTS, OVERHEADS), "Table 4").table;
    let from = |who: &str| table.rows.iter().filter(|row| row.last() == Some(&Cell::from(who))).count();
    assert_eq!((from("published"), from("here")), (25, 24));
    let of_trial_a: Vec<&Cell> =
        table.rows.iter().filter(|row| row[0] == Cell::from("A, seed 2")).map(|row| &row[5]).collect();
    assert_eq!(of_trial_a, [&Cell::Number { value: 10_000.0, decimals: 0 }]);
}

#[test]
fn what_was_not_run_is_missing_and_says_so() {
    let mut records = Records::default();
    records.add_missing(&step_name(&SETS[0], 1), "found no valgrind".to_owned());
    for paper in Paper::iter() {
        let exhibits = paper.exhibits(&records);
        let claims: Vec<&Claim> = exhibits.iter().flat_map(|exhibit| &exhibit.claims).collect();
        assert!(!claims.is_empty(), "{paper}");
        for claim in claims {
            assert!(matches!(&claim.shape, Shape::NotShown(why) if !why.is_empty()), "{paper}: {claim:?}");
        }
    }
    let claim = &exhibit(&records, "Figure 2").claims[0];
    assert_eq!(claim.shape, Shape::NotShown("found no valgrind".to_owned()));
}
