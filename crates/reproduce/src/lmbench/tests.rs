use switchcost_record::Mechanism;
use switchcost_workload::Access;

use super::{COLUMNS, STEP};
use crate::testing::{case, measured};
use crate::{Cell, Paper, Records};

/// Makes records in which the columns of the matrix cost `us`, in microseconds.
fn records(us: [f64; 7]) -> Records {
    let (record, mut findings) = measured();
    for ((tasks, kib), us) in COLUMNS.into_iter().zip(us) {
        let mut finding = case(Mechanism::Pipe, kib << 10, Access::Read, us * 1e3);
        finding.case.tasks = tasks;
        findings.results.push(finding);
    }
    let mut records = Records::default();
    records.add_measured(STEP, record, findings);
    records
}

#[test]
fn columns_are_in_lmbenchs_order() {
    let table = Paper::Lmbench
        .exhibits(&records([1.0, 2.0, 4.0, 3.0, 8.0, 5.0, 16.0]))
        .swap_remove(0)
        .table;
    assert_eq!(
        table.columns,
        [
            "2p/0K", "2p/16K", "2p/64K", "8p/16K", "8p/64K", "16p/16K", "16p/64K"
        ]
    );
    assert_eq!(
        table.rows[0][4],
        Cell::Number {
            value: 8.0,
            decimals: 3
        }
    );
}
