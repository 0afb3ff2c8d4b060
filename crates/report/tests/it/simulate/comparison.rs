//! Tests the comparison of two simulations, in every format.

use switchcost_analysis::compare::{Comparison, Request, compare_simulations};
use switchcost_report::compare::render;
use switchcost_report::html::render_comparison;
use switchcost_report::{Format, Style};

use super::fixture::{findings, record};
use crate::text::{begins, has, has_in_order, is_harmless};

/// Makes a comparison of one trace, simulated on two designs on each side. In new, the first design
/// has half of the excess cycles.
pub(crate) fn comparison(fail_above: Option<f64>) -> Comparison {
    let (base_head, base_intervals) = record();
    let (mut new_head, mut new_intervals) = record();
    new_head.designs[0].design.levels[1].size = switchcost_units::Bytes::kib(256);
    for interval in new_intervals
        .iter_mut()
        .filter(|interval| interval.design == 0)
    {
        let excess = interval.cycles.shared - interval.cycles.private;
        interval.cycles.shared -= excess / 2;
        new_head.designs[0].hierarchies.shared.cycles -= excess / 2;
    }
    let base = findings(&base_head, &base_intervals);
    let new = findings(&new_head, &new_intervals);
    let names = [["small.parquet".to_owned()], ["large.parquet".to_owned()]];
    let request = Request {
        base: &names[0],
        new: &names[1],
        fail_above,
        ..Request::default()
    };
    compare_simulations(&[(&base_head, &base)], &[(&new_head, &new)], request)
}

fn text(format: Format) -> String {
    render(&comparison(Some(0.0)), format, Style::default())
}

#[test]
fn a_whole_comparison() {
    insta::assert_snapshot!(text(Format::Table));
}

#[test]
fn json_and_csv_name_design_part_quantity_and_unit() {
    let value = crate::conformity::read(text(Format::Json));
    for (place, expected) in [
        ("/schema", "switchcost.compare/1"),
        ("/basis", "same-trace"),
        ("/pairs/0/base_design", "mogul-1a"),
        ("/pairs/0/kind", "all"),
        ("/pairs/0/quantity", "average-cost"),
        ("/pairs/0/unit", "cycles"),
        ("/pairs/0/verdict", "faster"),
    ] {
        assert_eq!(value.pointer(place), Some(&expected.into()), "{place}");
    }
    let ratio = value["pairs"][0]["ratio"].as_f64().expect("a number");
    assert!((ratio - 0.5).abs() < 0.01, "{ratio}");
    let csv = text(Format::Csv);
    begins(
        &csv,
        "base_design,new_design,kind,name,quantity,unit,is_suspect,base,base_low,base_high,new,new_low,new_high,ratio,\
         ratio_low,ratio_high,verdict,why\n",
    );
    let pairs = value["pairs"].as_array().map(Vec::len);
    assert_eq!(Some(csv.lines().count() - 1), pairs);
    has(
        &csv,
        "mogul-1a,mogul-1a,level,L1D,misses-per-instruction,per-instruction,false,",
    );
}

#[test]
fn the_page_has_both_curves_and_is_called_simulated() {
    let html = render_comparison(&comparison(None));
    let names = [
        "designs",
        "parts-1",
        "parts-2",
        "cumulative-1",
        "cumulative-2",
    ];
    assert_eq!(
        html.figure_ids(),
        names.map(|name| format!("figure-c1-{name}"))
    );
    has_in_order(
        &html.page,
        [
            "new/base is ",
            "design mogul-1a L1D size",
            "Simulated costs</h3>",
            "id=\"figure-",
        ],
    );
    let mut tables = html.tables.iter();
    let curve = tables.find(|(name, _)| name == "figure-c1-cumulative-1");
    let curve = &curve.expect("a table").1;
    let rows = curve
        .lines()
        .filter(|line| line.matches(" cycles").count() == 2);
    assert_eq!(rows.count(), 41, "both sides at each place: {curve}");
    is_harmless(&html.page);
}
