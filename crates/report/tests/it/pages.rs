//! Tests pages of every kind, made from records with hostile text: each figure is a self-contained
//! picture, and no text becomes markup.

use std::sync::OnceLock;

use switchcost_analysis::compare::{Request, compare_simulations};
use switchcost_analysis::{Findings, FlagName, Point, observation};
use switchcost_record::{Arm, MeasureRecord};
use switchcost_report::html::{Html, Part, render, render_comparison, render_reproduction};
use switchcost_report::reproduce::{Command, Reproduction};
use switchcost_reproduce::{
    Axis, Cell, Chart, Claim, Exhibit, Other, Paper, Reason, Series, Style, Table, Verdict, table,
};
use switchcost_workload::Access;

use crate::observe::fixture::observed;
use crate::report::fixture::{about, counters, measured, pairs, sized, suspect, walked, whole};
use crate::report::{compared, recorded};
use crate::simulate::fixture as simulated;
use crate::text::has;

const HARM: &str = "\u{1b}[2J\u{202e}</script><script>window.harmed=1</script><img src=x onerror=\"window.harmed=2\"><b>bold</b><a href=\"javascript:window.harmed=3\">link</a>&lt;i&gt;$x^2$";
const MARKUP: &str = "=<b>bold</b><a href=\"//x\">link</a>&lt;";

/// Returns a measurement that has all figures: a grid of sizes, strides and accesses, rings, pairs,
/// counters, samples.
fn measurement(samples: usize) -> (MeasureRecord, Findings, Vec<Point>) {
    let mut findings = whole();
    findings.results[0].counters = counters();
    for stride in [64, 512] {
        for access in [Access::Read, Access::Write] {
            for kib in [16, 64, 256] {
                let mut case = sized(2, kib);
                case.working_set.stride_bytes = switchcost_units::Bytes(stride);
                case.working_set.access = access;
                findings
                    .results
                    .push(walked(case, 1_740.0, about(kib as f64 * stride as f64)));
            }
        }
    }
    findings.results.extend(
        [4, 8, 16].map(|tasks| measured(sized(tasks, 0), 1_740.0 + f64::from(tasks) * 20.0)),
    );
    findings.results.extend(pairs());
    findings.results.push(suspect(
        measured(sized(32, 0), 2_000.0),
        FlagName::Disturbed,
        "40 of 220 samples",
    ));
    let mut record = recorded::record();
    record.header.plan.cases = findings
        .results
        .iter()
        .map(|finding| finding.case.clone())
        .collect();
    record.header.plan.preset = HARM.to_owned();
    record.header.command = vec![HARM.to_owned()];
    let host = &mut record.header.host;
    (host.hostname, host.kernel) = (HARM.to_owned(), HARM.to_owned());
    let cases = record.header.plan.cases.len();
    (
        record,
        findings,
        (0..samples).map(|i| point(i, cases)).collect(),
    )
}

/// Makes sample number `i` of a record with `cases` cases. Some samples are left out of the
/// estimates.
pub(crate) fn point(i: usize, cases: usize) -> Point {
    Point {
        case: (i % cases) as u32,
        arm: if i.is_multiple_of(2) {
            Arm::SwitchDirect
        } else {
            Arm::BaselineDirect
        },
        at_seconds: i as f64 * 3e-3,
        handoff_seconds: (2_000_000 + (i as u64 * 7919) % 3_000_000) as f64 / 3e12,
        left_out: if i % 97 == 5 {
            vec!["steal", "frequency"]
        } else {
            Vec::new()
        },
    }
}

fn measured_page(samples: usize, name: &str) -> Html {
    let (record, findings, points) = measurement(samples);
    render(&[Part::Measured {
        name,
        record: &record,
        findings: &findings,
        points: &points,
    }])
}

fn simulated_page() -> Html {
    let (mut head, intervals) = simulated::record();
    head.trace.source = HARM.to_owned();
    for process in &mut head.processes {
        process.name = MARKUP.to_owned();
    }
    head.causes[1].syscall = Some("@SUM(1)".to_owned());
    for design in &mut head.designs {
        design.design.name.insert(0, '+');
        for code in design.detail.iter_mut().flat_map(|detail| &mut detail.code) {
            (code.program, code.object) = (HARM.to_owned(), Some("-1+1".to_owned()));
        }
    }
    let findings = simulated::findings(&head, &intervals);
    let part = |name| Part::Simulated {
        name,
        head: &head,
        findings: &findings,
    };
    render(&[part(HARM), part(MARKUP)])
}

fn observed_page() -> Html {
    let observation = observed(HARM, MARKUP);
    render(&[Part::Observed {
        name: HARM,
        observation: &observation,
        findings: &observation::analyse(&observation),
    }])
}

/// Returns a claim of a paper, with hostile words in its texts, reasons and other results.
fn harmful_claim() -> Claim {
    let mut entry = table(Paper::Li2007).swap_remove(0);
    let harm = || HARM.to_owned();
    (entry.statement, entry.quantity, entry.bounds) = (harm(), harm(), harm());
    let reason = Reason {
        statement: harm(),
        quantity: harm(),
        rule: entry.rule,
        run: harm(),
        terms: Vec::new(),
        found: harm(),
        verdict: Verdict::Holds,
    };
    let other = Other {
        file: harm(),
        machine: harm(),
        terms: Vec::new(),
        settings: Vec::new(),
        verdict: Verdict::Differs,
    };
    Claim {
        entry,
        terms: Vec::new(),
        settings: Vec::new(),
        found: MARKUP.to_owned(),
        verdict: Verdict::Differs,
        alone: Verdict::Differs,
        others: vec![other],
        missing: None,
        reasons: vec![reason],
        why_not: Some(harm()),
    }
}

/// Returns the page of a reproduced paper, with three figures that have different axes and hostile
/// words.
fn reproduced_page() -> Html {
    let series = |style, y: [f64; 3]| Series {
        name: HARM.to_owned(),
        style,
        x: vec![1024.0, 2048.0, 65536.0],
        y: y.to_vec(),
        intervals: if style == Style::Found {
            y.map(|y| (y * 0.9, y * 1.1)).to_vec()
        } else {
            Vec::new()
        },
    };
    let exhibit = |(name, x_axis, y_axis): (&str, Axis, Axis)| Exhibit {
        name: name.to_owned(),
        title: MARKUP.to_owned(),
        claims: vec![harmful_claim()],
        table: Table {
            columns: vec![HARM.to_owned()],
            rows: vec![vec![Cell::Text(MARKUP.to_owned())]],
        },
        chart: Some(Chart {
            x_title: MARKUP.to_owned(),
            x_axis,
            x_names: Vec::new(),
            y_title: HARM.to_owned(),
            y_axis,
            series: vec![
                series(Style::Found, [0.1, 0.2, 0.4]),
                series(Style::Published, [0.2, 0.3, 0.5]),
            ],
            marks: vec![(2048.0, MARKUP.to_owned())],
        }),
        notes: vec![HARM.to_owned()],
        steps: Vec::new(),
    };
    let exhibits = [
        ("Figure 1", Axis::Size, Axis::Time),
        ("Figure 2", Axis::Linear, Axis::Share),
        ("Figure 3", Axis::Size, Axis::Linear),
    ]
    .map(exhibit);
    let commands = [Command {
        step: "a".to_owned(),
        line: HARM.to_owned(),
        missing: Some(HARM.to_owned()),
    }];
    let reproduction = Reproduction::new(Paper::Li2007, &exhibits, &commands, HARM);
    render_reproduction(&reproduction)
}

fn compared_pages() -> [Html; 2] {
    let (base, new) = ([HARM.to_owned()], ["new.jsonl".to_owned()]);
    let request = Request {
        base: &base,
        new: &new,
        ..Request::default()
    };
    let measured = render_comparison(&compared::comparison(HARM, MARKUP, request));
    let (head, findings) = simulated::whole();
    let mut other = head.clone();
    other.trace.instructions += 1;
    let sides = ([(&head, &findings)], [(&other, &findings)]);
    let simulated = render_comparison(&compare_simulations(&sides.0, &sides.1, request));
    [measured, simulated]
}

fn make_pages() -> Vec<(&'static str, Html)> {
    let [measured, simulated] = compared_pages();
    vec![
        ("measured", measured_page(200, HARM)),
        ("simulated", simulated_page()),
        ("observed", observed_page()),
        ("compared", measured),
        ("compared-simulations", simulated),
        ("reproduced", reproduced_page()),
    ]
}

fn pages() -> &'static [(&'static str, Html)] {
    static PAGES: OnceLock<Vec<(&str, Html)>> = OnceLock::new();
    PAGES.get_or_init(make_pages)
}

/// Keeps a page in the target folder, below `tmp/pages`, for inspection.
fn keep(kind: &str, html: &Html) {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("pages");
    std::fs::create_dir_all(&folder).expect("a folder in the target folder");
    std::fs::write(folder.join(format!("{kind}.html")), &html.page).expect("written");
}

/// Asserts that a figure is well-formed XML, draws more than one shape, has a description, and has
/// only finite numbers.
fn assert_is_drawn(id: &str, svg: &str) {
    let document = roxmltree::Document::parse(svg).unwrap_or_else(|error| panic!("{id}: {error}"));
    let drawn = |names: &[&str]| {
        let nodes = document.descendants();
        nodes
            .filter(|node| names.contains(&node.tag_name().name()))
            .count()
    };
    assert!(
        drawn(&["path", "rect", "circle"]) > 1,
        "{id} is not drawn: {svg}"
    );
    assert!(drawn(&["title"]) > 0, "a pointer finds nothing in {id}");
    for attribute in document.descendants().flat_map(|node| node.attributes()) {
        for number in ["NaN", "inf"] {
            assert!(!attribute.value().contains(number), "{id}: {attribute:?}");
        }
    }
}

#[test]
fn every_figure_is_a_picture_that_stands_alone_and_is_the_same_each_time() {
    for ((kind, html), (_, again)) in pages().iter().zip(make_pages()) {
        keep(kind, html);
        assert!(html.figures.len() >= 2, "{kind}");
        for (id, svg) in &html.figures {
            assert_is_drawn(id, svg);
            let figure = format!("<div id=\"{id}\" class=\"drawing\">{svg}</div>");
            assert_eq!(html.page.matches(&figure).count(), 1, "{kind}: {id}");
        }
        assert!(
            html.page == again.page && html.tables == again.tables,
            "{kind}"
        );
    }
}

#[test]
fn no_word_of_a_record_is_markup_and_nothing_is_fetched() {
    for (kind, html) in pages() {
        for markup in [
            "<script",
            "<img",
            "<b>",
            "javascript:window.harmed=3\">",
            "\u{1b}",
            "\u{202e}",
            "src=\"",
            "<link",
            "@import",
            "url(",
        ] {
            assert!(!html.page.contains(markup), "{kind}: {markup}");
        }
        if *kind != "compared-simulations" {
            has(&html.page, "&lt;b&gt;bold&lt;/b&gt;");
        }
        has(&html.page, "default-src 'none'");
        for (at, _) in html.page.match_indices("href=\"#method-") {
            let name = html.page[at + 7..].split('"').next().unwrap_or_default();
            has(&html.page, &format!("id=\"{name}\""));
        }
    }
}

/// Tests names like formulas, because a process may give itself any name, and users open the tables
/// of a page with spreadsheets.
#[test]
fn no_name_reaches_a_spreadsheet_as_a_formula() {
    let mut guarded = 0;
    for (kind, html) in pages() {
        for (name, table) in &html.tables {
            let mut reader = csv::ReaderBuilder::new();
            let mut reader = reader.has_headers(false).from_reader(table.as_bytes());
            for row in reader.records() {
                for field in &row.expect("CSV") {
                    let is_formula = field.starts_with(['=', '@', '\t', '\r'])
                        || field == "-1+1"
                        || field.starts_with("+mogul");
                    assert!(!is_formula, "{kind}, {name}: {field}");
                    guarded += usize::from(field.starts_with('\''));
                }
            }
        }
    }
    assert!(guarded > 20, "{guarded} names");
}

#[test]
fn a_measurement_has_all_kinds_of_figures_and_many_samples_make_no_long_page() {
    let html = measured_page(100_000, "run.jsonl");
    for kind in [
        "mechanisms",
        "sizes-1",
        "latency",
        "accesses-1",
        "strides-1",
        "rings",
        "pairs-",
        "samples",
    ] {
        assert!(
            html.figure_ids().iter().any(|id| id.contains(kind)),
            "no {kind}"
        );
    }
    assert!(
        html.page.len() < 1_500_000,
        "{} bytes for 100,000 samples",
        html.page.len()
    );
}
