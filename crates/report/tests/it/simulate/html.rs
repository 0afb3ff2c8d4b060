//! Tests the structure of the page of a simulation.

use switchcost_report::html::{Part, render};

use super::fixture::{HOSTILE, findings, record, whole};

#[test]
fn a_record_has_the_figures_of_the_paper() {
    let (head, findings) = whole();
    let html = render(&[Part::Simulated {
        name: "two.parquet",
        head: &head,
        findings: &findings,
    }]);
    for figure in [
        "lengths",
        "shared-1",
        "private-1",
        "excess-1",
        "cumulative-1",
        "technology",
        "causes",
        "evictions-1",
    ] {
        let id = format!("figure-r1-{figure}");
        assert!(
            html.figure_ids().contains(&id.as_str()),
            "{id} is not among {:?}",
            html.figure_ids()
        );
    }
    assert!(html.figure_ids().contains(&"figure-r1-code-1"));
    assert!(
        html.page.contains("simulated CPI"),
        "simulated numbers are called so"
    );
}

#[test]
fn a_curve_and_its_table_are_the_same_findings() {
    let (head, findings) = whole();
    let html = render(&[Part::Simulated {
        name: "two.parquet",
        head: &head,
        findings: &findings,
    }]);
    let (_, table) = html
        .tables
        .iter()
        .find(|(name, _)| name == "figure-r1-cumulative-1")
        .expect("a table");
    let all = &findings.designs[0].groups[0];
    let rows = table
        .lines()
        .filter(|line| line.starts_with("all,"))
        .count();
    assert_eq!(rows, all.curve.len());
}

#[test]
fn programs_of_hostile_names_stay_text() {
    let (mut head, mut findings) = whole();
    head.trace.source = "<script>alert(1)</script>".to_owned();
    for table in &mut findings.designs[0].evictions {
        table.programs[0] = "</script><b>bold</b>".to_owned();
    }
    findings.designs[0].code[0].program = "<b>bold</b>".to_owned();
    let html = render(&[Part::Simulated {
        name: HOSTILE,
        head: &head,
        findings: &findings,
    }]);
    assert!(!html.page.contains("<b>") && !html.page.contains("<script>alert"));
    assert!(!html.page.contains("</b>") && !html.page.contains('\u{1b}'));
    assert!(
        html.page.contains("\\u003c")
            || html.page.contains("&amp;lt;b&amp;gt;")
            || html.page.contains("&lt;b&gt;")
    );
}

/// A process may give itself any name, and the tables of the page are opened with spreadsheets.
#[test]
fn no_name_reaches_a_spreadsheet_as_a_formula() {
    let (mut head, intervals) = record();
    for (number, process) in head.processes.iter_mut().enumerate() {
        process.name = format!("=cmd|' /C calc'!A{number}");
    }
    head.causes[1].syscall = Some("@SUM(1)".to_owned());
    for design in &mut head.designs {
        design.design.name.insert(0, '+');
        for code in design.detail.iter_mut().flat_map(|detail| &mut detail.code) {
            code.program = "\t=1".to_owned();
            code.object = Some("-1+1".to_owned());
        }
    }
    let findings = findings(&head, &intervals);
    let part = |name| Part::Simulated {
        name,
        head: &head,
        findings: &findings,
    };
    let html = render(&[part("=1.parquet"), part("@2.parquet")]);
    let mut guarded = 0;
    for (name, table) in &html.tables {
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .from_reader(table.as_bytes());
        for field in reader.records().flat_map(|row| {
            row.expect("CSV")
                .iter()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        }) {
            let is_formula = field.starts_with(['=', '@', '+', '\t', '\r']) || field == "-1+1";
            assert!(!is_formula, "{name}: {field}");
            guarded += usize::from(field.starts_with('\''));
        }
    }
    assert!(
        guarded > 20,
        "{guarded} names reach {} tables",
        html.tables.len()
    );
}

#[test]
fn several_records_are_compared_and_not_averaged() {
    let (head, findings) = whole();
    let part = |name| Part::Simulated {
        name,
        head: &head,
        findings: &findings,
    };
    let html = render(&[part("timesharing.parquet"), part("compute-bound.parquet")]);
    assert!(
        html.figure_ids().contains(&"figure-all-technology"),
        "{:?}",
        html.figure_ids()
    );
    let (_, table) = html
        .tables
        .iter()
        .find(|(name, _)| name.starts_with("all-"))
        .expect("a table");
    let rows = table.lines().skip(1).count();
    assert_eq!(
        rows,
        2 * findings.designs.len(),
        "a row for each record and design"
    );
}
