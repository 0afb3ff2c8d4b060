//! Tests the comparison of two simulations, in every format.

use switchcost_analysis::compare::{Comparison, Request, compare_simulations};
use switchcost_report::compare::render;
use switchcost_report::html::{Html, render_comparison};
use switchcost_report::{Format, Style};

use super::fixture::{findings, record};

/// Makes a comparison of the same trace under two designs each; the first design changed to half
/// the excess.
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
    let (base, new) = (
        findings(&base_head, &base_intervals),
        findings(&new_head, &new_intervals),
    );
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

pub(crate) fn page() -> Html {
    render_comparison(&comparison(None))
}

#[test]
fn a_whole_comparison() {
    insta::assert_snapshot!(text(Format::Table));
}

#[test]
fn json_and_csv_name_design_part_quantity_and_unit() {
    let value = crate::conformity::read(text(Format::Json));
    assert_eq!(
        (&value["schema"], &value["basis"]),
        (&"switchcost.compare/1".into(), &"same-trace".into())
    );
    let first = &value["pairs"][0];
    let expected = [
        ("base_design", "mogul-1a"),
        ("kind", "all"),
        ("quantity", "average-cost"),
        ("unit", "cycles"),
        ("verdict", "faster"),
    ];
    for (field, text) in expected {
        assert_eq!(first[field], text, "{first}");
    }
    assert!(
        first["ratio"]
            .as_f64()
            .is_some_and(|ratio| (ratio - 0.5).abs() < 0.01),
        "{first}"
    );
    let csv = text(Format::Csv);
    let mut lines = csv.lines();
    let names = "base_design,new_design,kind,name,quantity,unit,is_suspect,base,base_low,base_high,new,new_low,new_high,ratio,\
                 ratio_low,ratio_high,verdict,why";
    assert_eq!(lines.next(), Some(names));
    assert_eq!(
        lines.count(),
        value["pairs"].as_array().expect("pairs").len()
    );
    assert!(
        csv.contains("mogul-1a,mogul-1a,level,L1D,misses-per-instruction,per-instruction,false,"),
        "{csv}"
    );
}

#[test]
fn the_page_has_both_curves_and_is_called_simulated() {
    let html = page();
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
    let place = |text: &str| {
        html.page
            .find(text)
            .unwrap_or_else(|| panic!("found no {text:?}"))
    };
    let places = [
        "times as many (",
        "design mogul-1a L1D size",
        "Simulated costs</h3>",
        "id=\"figure-",
    ]
    .map(place);
    assert!(places.is_sorted(), "{places:?}");
    let (_, curve) = html
        .tables
        .iter()
        .find(|(name, _)| name == "figure-c1-cumulative-1")
        .expect("a table");
    let rows = curve
        .lines()
        .filter(|line| line.matches(" cycles").count() == 2);
    assert_eq!(rows.count(), 41, "both sides at each place: {curve}");
    assert!(
        !html.page.contains('\u{1b}') && !html.page.contains('\u{202e}'),
        "a program's name is hostile"
    );
}
