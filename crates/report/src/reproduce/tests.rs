use serde_json::Value;
use strum::IntoEnumIterator;
use switchcost_reproduce::{
    Axis, Cell, Chart, Claim, Entry, Exhibit, Kind, Paper, Reason, Rule, Series, Style as Curve,
    Table, Term, Verdict,
};

use super::{Command, Listed, Reproduction, render, render_markdown};
use crate::text::{
    DETAILED, begins, fits_screen, flat, has, has_all, has_in_order, is_harmless, lacks,
};
use crate::{Format, Style};

fn some_claim() -> Claim {
    let entry = Entry {
        id: "rises".to_owned(),
        exhibit: "Figure 1".to_owned(),
        kind: Kind::Tested,
        statement: "it rises".to_owned(),
        quotation: None,
        place: "p. 1".to_owned(),
        quantity: "cost".to_owned(),
        condition: None,
        rule: Rule::Every([0.5, f64::INFINITY]),
        bounds: "ours".to_owned(),
        published: Vec::new(),
        free: Vec::new(),
        over_free: false,
        varies: false,
        reasons: Vec::new(),
    };
    let terms = vec![Term {
        name: "us".to_owned(),
        value: 1.0,
        low: 0.9,
        high: 1.1,
    }];
    Claim {
        entry,
        terms,
        settings: Vec::new(),
        found: "1.00 us".to_owned(),
        verdict: Verdict::Holds,
        alone: Verdict::Holds,
        others: Vec::new(),
        missing: None,
        reasons: Vec::new(),
        why_not: None,
    }
}

fn exhibits() -> Vec<Exhibit> {
    let claim = |kind, verdict| {
        let mut claim = some_claim();
        (claim.entry.kind, claim.verdict) = (kind, verdict);
        claim
    };
    let reason = Reason {
        statement: "the wind".to_owned(),
        quantity: "gusts".to_owned(),
        rule: Rule::Every([1.0, f64::INFINITY]),
        run: "a-run".to_owned(),
        terms: Vec::new(),
        found: "gusts: 3".to_owned(),
        verdict: Verdict::Holds,
    };
    let text = |text: &str| Cell::Text(text.to_owned());
    let number = Cell::Number {
        value: 1.234,
        decimals: 1,
    };
    let why = "a reason that is too long for a cell".to_owned();
    vec![Exhibit {
        name: "Figure 1".to_owned(),
        title: "Cost by size".to_owned(),
        claims: vec![
            claim(Kind::Tested, Verdict::Holds),
            Claim {
                reasons: vec![reason],
                why_not: Some("the wind".to_owned()),
                ..claim(Kind::Tested, Verdict::Differs)
            },
            Claim {
                found: String::new(),
                missing: Some("no record".to_owned()),
                ..claim(Kind::Tested, Verdict::Inconclusive)
            },
            claim(Kind::Calibrated, Verdict::Holds),
            claim(Kind::Shown, Verdict::Inconclusive),
            claim(Kind::Own, Verdict::Holds),
        ],
        table: Table {
            columns: vec!["size".to_owned(), "us".to_owned()],
            rows: vec![
                vec![text("1 KiB\u{1b}[2J"), number],
                vec![text("2 KiB"), Cell::Missing { why }],
            ],
        },
        chart: None,
        notes: vec!["A note.".to_owned()],
        steps: Vec::new(),
    }]
}

fn reproduction<'a>(exhibits: &'a [Exhibit], commands: &'a [Command]) -> Reproduction<'a> {
    Reproduction::new(Paper::Li2007, exhibits, commands, "a machine")
}

fn rendered(format: Format) -> String {
    let exhibits = exhibits();
    let commands = [Command {
        step: "a".to_owned(),
        line: "switchcost measure".to_owned(),
        missing: None,
    }];
    render(&[reproduction(&exhibits, &commands); 2], format, DETAILED)
}

#[test]
fn each_verdict_is_said_with_its_reason() {
    let text = rendered(Format::Table);
    has_all(
        &flat(&text),
        [
            "1 of 3 claims is reproduced here, 1 is not, and 1 is inconclusive.",
            "One calibrated claim is consistent with the study.",
            "it rises (reproduced). Found: 1.00 us. Rule: cost: every number above 0.500 (ours).",
            "it rises (not reproduced). Found: 1.00 us.",
            "Shown by a-run: the wind (gusts: 3).",
            "it rises (inconclusive). Rule:",
            "Missing: no record.",
            "it rises (consistent after calibration).",
            "it rises (shown without a verdict).",
            "it rises (true here).",
            "Our own claim is true here.",
            "These verdicts rest on one result; repeat on another day, and add the other result with --with. At most 5 % of the verdicts, or 0.2, are expected to be wrong by chance.",
            "A note.",
            "switchcost measure",
            "-: a reason that is too long for a cell",
        ],
    );
    is_harmless(&text);
}

#[test]
fn a_reason_that_no_run_shows_is_none() {
    let mut exhibits = exhibits();
    let claim = &mut exhibits[0].claims[1];
    assert!(!super::reason(claim).contains("No reason found"));
    claim.reasons[0].verdict = Verdict::Differs;
    assert_eq!(
        super::reason(claim),
        "Refuted by a-run: the wind (gusts: 3). No reason found."
    );
    claim.reasons.clear();
    assert_eq!(super::reason(claim), "No reason found: none was tested.");
}

#[test]
fn the_screen_begins_with_what_is_not_reproduced() {
    let exhibits: Vec<Exhibit> = (0..30).flat_map(|_| exhibits()).collect();
    let reproduction = reproduction(&exhibits, &[]);
    for papers in [&[reproduction][..], &[reproduction; 5]] {
        let text = render(papers, Format::Table, Style::default());
        has(
            &flat(&text),
            "30 of 90 claims are reproduced here, 30 are not",
        );
        fits_screen(&text, 45);
        has_in_order(
            &text,
            [
                "of 90 claims",
                "\nNot reproduced\n",
                "Figure 1: it rises. Found: 1.00 us. Why: the wind",
                "\nInconclusive\n",
            ],
        );
    }
}

/// Tests that a quick run prints no verdict. In an experiment, two of three verdicts of a quick run
/// differed from those of a full run.
#[test]
fn a_quick_run_prints_no_verdict() {
    let mut exhibits = exhibits();
    exhibits[0].claims.iter_mut().for_each(Claim::withhold);
    let reproduction = reproduction(&exhibits, &[]).judged_if(false);
    for style in [Style::default(), DETAILED] {
        let text = flat(&render(&[reproduction], Format::Table, style));
        has(
            &text,
            "No claim is judged, because --quick measures too few sizes",
        );
        for word in ["reproduced", "inconclusive", "consistent", "it rises"] {
            lacks(&text, word);
        }
    }
    let listed = Listed::read(&render(&[reproduction], Format::Json, Style::default()));
    assert_eq!(listed, Some(Listed::new(&reproduction)));
    assert_eq!(Listed::read("{}"), None);
}

/// Makes a chart of curves with these names, styles and sizes; each value is 1 us.
fn chart_of<const N: usize>(curves: [(&str, Curve, &[f64]); N]) -> Chart {
    let series = curves.map(|(name, style, x)| Series {
        name: name.to_owned(),
        style,
        x: x.to_vec(),
        y: vec![1000.0; x.len()],
        intervals: Vec::new(),
    });
    Chart {
        x_title: "size".to_owned(),
        x_axis: Axis::Size,
        x_names: Vec::new(),
        y_title: "cost".to_owned(),
        y_axis: Axis::Time,
        series: series.into(),
        marks: Vec::new(),
    }
}

#[test]
fn a_chart_without_points_is_not_drawn() {
    let drawn = |chart| {
        let mut exhibits = exhibits();
        exhibits[0].chart = Some(chart);
        let page = crate::html::render_reproduction(&reproduction(&exhibits, &[]));
        page.figures.len()
    };
    assert_eq!(drawn(chart_of([])), 0);
    assert_eq!(drawn(chart_of([("read", Curve::Found, &[1024.0])])), 1);
}

/// Tests that an upper limit is a triangle in the colour of its curve, and that published values
/// and trials have one entry each in the legend.
#[test]
fn a_curve_has_its_limits_and_shares_the_legend() {
    let chart = chart_of([
        ("read", Curve::Found, &[1024.0, 4096.0]),
        ("read, at most", Curve::Bounds, &[2048.0]),
        ("read, published", Curve::Published, &[1024.0, 4096.0]),
        ("read, trials", Curve::Trials, &[1024.0]),
        ("write", Curve::Found, &[1024.0]),
        ("write, published", Curve::Published, &[1024.0]),
    ]);
    let figure = super::chart::draw(&chart, "a".to_owned(), "A".to_owned()).figure();
    let svg = figure.expect("a figure").svg.into_string();
    for once in [
        "m-6 -5h12l-6 10z\" fill=\"none\" stroke=\"#0072B2\"",
        ">read</text>",
        ">write</text>",
        ">published</text>",
        ">single trials</text>",
    ] {
        assert_eq!(svg.matches(once).count(), 1, "{once} {svg}");
    }
    lacks(&svg, "read, at most</text>");
    lacks(&svg, "read, published</text>");
    // A tooltip has its source.
    has(&svg, "read, published: 1.00 us");
}

#[test]
fn json_keeps_numbers_and_reasons() {
    let value = crate::conformity::read(rendered(Format::Json));
    assert_eq!(value["schema"], "switchcost.reproduce/3");
    let papers = value["papers"].as_array().map(Vec::len);
    assert_eq!(papers, Some(2), "one object, whatever is asked for");
    let paper = &value["papers"][1];
    assert!(paper["exhibits"][0]["claims"][0].get("why_not").is_none());
    for (place, expected) in [
        ("/paper", r#""li2007""#),
        (
            "/verdicts",
            r#"{"calibrated":{"differs":0,"holds":1,"inconclusive":0},"own":{"differs":0,"holds":1,"inconclusive":0},"tested":{"differs":1,"holds":1,"inconclusive":1},"wrong_by_chance":0.15000000000000002}"#,
        ),
        ("/exhibits/0/table/rows/0/1/value", "1.234"),
        (
            "/exhibits/0/table/rows/1/1/why",
            r#""a reason that is too long for a cell""#,
        ),
        ("/exhibits/0/claims/1/verdict", r#""differs""#),
        ("/exhibits/0/claims/1/reasons/0/statement", r#""the wind""#),
        ("/exhibits/0/claims/1/why_not", r#""the wind""#),
        ("/exhibits/0/claims/0/rule", r#"{"every":[0.5,null]}"#),
        ("/exhibits/0/claims/0/terms/0/low", "0.9"),
    ] {
        let expected: Value = serde_json::from_str(expected).expect("JSON");
        assert_eq!(paper.pointer(place), Some(&expected), "{place}");
    }
}

#[test]
fn csv_has_a_row_for_each_claim() {
    let text = rendered(Format::Csv);
    let rows: Vec<&str> = text.lines().collect();
    assert_eq!(rows.len(), 1 + 2 * 6);
    assert_eq!(
        [rows[0], rows[2]],
        [
            "paper,exhibit,title,id,kind,statement,quantity,rule,verdict,found,why",
            "li2007,Figure 1,Cost by size,rises,tested,it rises,cost,every number above 0.500,differs,1.00 us,Shown by a-run: the wind (gusts: 3).",
        ]
    );
}

#[test]
fn the_table_of_claims_is_printed_in_each_format() {
    let papers = [Paper::Mogul1990, Paper::Li2007];
    let claims = |papers: &[Paper], format, style| super::render_claims(papers, format, style);
    has_all(
        &flat(&claims(&papers, Format::Table, DETAILED)),
        [
            "no-asymptote",
            "the curve does not reach an asymptote",
            "ours: by more than a twentieth",
            "calibrated",
            "Fitted: ",
        ],
    );
    for paper in Paper::iter() {
        fits_screen(&claims(&[paper], Format::Table, Style::default()), 45);
    }
    let value = crate::conformity::read(claims(&papers, Format::Json, DETAILED));
    let listed = value["papers"][0]["claims"].as_array().expect("claims");
    let is_whole = |claim: &Value| claim["rule"].is_object() && claim["place"].is_string();
    assert!(listed.len() > 30 && listed.iter().all(is_whole));
    begins(
        &claims(&papers, Format::Csv, DETAILED),
        "paper,exhibit,id,kind,statement,quotation,place,quantity,rule,bounds\n",
    );
}

/// Tests that a page prints the common end of several names once, and the interval of a single
/// number once.
#[test]
fn a_page_of_markdown_does_not_repeat_itself() {
    let term = |name: &&str| Term {
        name: (*name).to_owned(),
        value: 0.5,
        low: 0.4,
        high: 0.6,
    };
    let ends_with = |names: &[&str], end: &str| {
        let mut exhibits = exhibits();
        let mut claim = some_claim();
        claim.entry.statement = "Small: it rises".to_owned();
        claim.terms = names.iter().map(term).collect();
        (claim.verdict, claim.alone) = (Verdict::Inconclusive, Verdict::Inconclusive);
        claim.missing = Some("the interval, 0.400 to 0.600, allows both verdicts".to_owned());
        exhibits[0].claims = vec![claim];
        let page = render_markdown(&reproduction(&exhibits, &[]));
        let mut rows = page.lines().filter(|line| line.starts_with("| Small"));
        assert!(
            rows.all(|row| row.ends_with(end)) && page.contains(end),
            "{page}"
        );
    };
    ends_with(
        &["Small, b over a"],
        "| b / a: 0.500 (0.400 to 0.600) | inconclusive |",
    );
    ends_with(
        &["x: b over a", "y: b over a"],
        "| b / a: x: 0.500 (0.400 to 0.600); y: 0.500 (0.400 to 0.600) | inconclusive: 0.400 to 0.600 |",
    );
}

#[test]
fn a_page_of_markdown_has_each_claim_beside_its_figure() {
    let exhibits = exhibits();
    let page = render_markdown(&reproduction(&exhibits, &[]));
    let rows = page.matches("\n| it rises (p. 1) |").count();
    assert_eq!(rows, exhibits[0].claims.len());
    has_all(
        &page,
        [
            "| not reproduced: the wind |",
            " Not true here: it rises (Figure 1).",
            "\n## Figure 1: Cost by size\n",
        ],
    );
}
