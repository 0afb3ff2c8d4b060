use strum::IntoEnumIterator;
use switchcost_reproduce::{
    Axis, Cell, Chart, Claim, Entry, Exhibit, Kind, Paper, Reason, Rule, Series, Table, Term,
    Verdict,
};

use super::{Command, Listed, Reproduction, render, render_markdown};
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
        open: None,
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
                ..claim(Kind::Tested, Verdict::Undecided)
            },
            claim(Kind::Calibrated, Verdict::Holds),
            claim(Kind::Shown, Verdict::Undecided),
            claim(Kind::Own, Verdict::Holds),
        ],
        table: Table {
            columns: vec!["size".to_owned(), "us".to_owned()],
            rows: vec![
                vec![
                    Cell::Text("1 KiB\u{1b}[2J".to_owned()),
                    Cell::Number {
                        value: 1.234,
                        decimals: 1,
                    },
                ],
                vec![
                    Cell::Text("2 KiB".to_owned()),
                    Cell::Missing {
                        why: "a reason that is too long for a cell".to_owned(),
                    },
                ],
            ],
        },
        chart: None,
        notes: vec!["A note.".to_owned()],
        steps: Vec::new(),
    }]
}

fn rendered(format: Format) -> String {
    let exhibits = exhibits();
    let commands = [Command {
        step: "a".to_owned(),
        line: "switchcost measure".to_owned(),
        missing: None,
    }];
    let reproduction = Reproduction::new(Paper::Li2007, &exhibits, &commands, "a machine");
    render(
        &[reproduction, reproduction],
        format,
        Style {
            is_detailed: true,
            ..Style::default()
        },
    )
}

#[test]
fn each_verdict_is_said_with_its_reason() {
    let text = rendered(Format::Table)
        .replace("\n  ", " ")
        .replace('\n', " ");
    for part in [
        "1 of 3 claims is reproduced here, 1 is not, and 1 is inconclusive.",
        "1 of 1 more claim with fitted parameters is consistent, 0 are not, and 0 are inconclusive.",
        "it rises (reproduced). Found: 1.00 us. Rule: cost: every number above 0.500 (ours).",
        "it rises (not reproduced). Found: 1.00 us.",
        "Shown by a-run: the wind (gusts: 3).",
        "it rises (inconclusive). Rule:",
        "Missing: no record.",
        "it rises (consistent after calibration).",
        "it rises (for information).",
        "it rises (true here).",
        "1 of 1 claim of our own is true here, 0 are not, and 0 are open.",
        "These verdicts rest on one result; repeat on another day, and add the other result with --with. At most 5 % of the \
         verdicts, or 0.2, are expected to be wrong by chance.",
        "A note.",
        "switchcost measure",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(!text.contains('\u{1b}'), "{text:?}");
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
    let reproduction = Reproduction::new(Paper::Li2007, &exhibits, &[], "a machine");
    for papers in [&[reproduction][..], &[reproduction; 5]] {
        let text = render(papers, Format::Table, Style::default());
        assert!(
            text.replace('\n', " ")
                .contains("30 of 90 claims are reproduced here, 30 are not"),
            "{text}"
        );
        assert!(
            text.lines().count() <= 45 && text.lines().all(|line| line.chars().count() <= 100),
            "{text}"
        );
        let place = |words: &str| {
            text.find(words)
                .unwrap_or_else(|| panic!("no '{words}' in {text}"))
        };
        assert!(
            place("of 90 claims") < place("\nNot reproduced\n"),
            "{text}"
        );
        assert!(
            place("Figure 1: it rises. Found: 1.00 us. Why: the wind") < place("\nInconclusive\n"),
            "{text}"
        );
    }
}

/// Verdicts of a quick run are not printed, because judging one changed two of three verdicts.
#[test]
fn a_quick_run_prints_no_verdict() {
    let mut exhibits = exhibits();
    exhibits
        .iter_mut()
        .flat_map(|exhibit| &mut exhibit.claims)
        .for_each(Claim::withhold);
    let reproduction =
        Reproduction::new(Paper::Li2007, &exhibits, &[], "a machine").judged_if(false);
    for is_detailed in [false, true] {
        let text = render(
            &[reproduction],
            Format::Table,
            Style {
                is_detailed,
                ..Style::default()
            },
        )
        .replace('\n', " ");
        assert!(
            text.contains("No claim is judged, because --quick measures too few sizes"),
            "{text}"
        );
        for word in ["reproduced", "inconclusive", "consistent", "it rises"] {
            assert!(!text.contains(word), "{word}: {text}");
        }
    }
    let listed = Listed::read(&render(&[reproduction], Format::Json, Style::default()));
    assert_eq!(listed, Some(Listed::new(&reproduction)));
    assert_eq!(Listed::read("{}"), None);
}

#[test]
fn what_is_missing_in_a_table_is_said_below_it() {
    let text = rendered(Format::Table);
    assert!(
        text.contains("-: a reason that is too long for a cell"),
        "{text}"
    );
}

#[test]
fn a_chart_without_points_is_not_drawn() {
    let mut exhibits = exhibits();
    let chart = |series| {
        Some(Chart {
            x_title: "size".to_owned(),
            x_axis: Axis::Size,
            x_names: Vec::new(),
            y_title: "cost".to_owned(),
            y_axis: Axis::Time,
            series,
            marks: Vec::new(),
        })
    };
    let drawn = |exhibits: &[Exhibit]| {
        crate::html::render_reproduction(&Reproduction::new(
            Paper::Li2007,
            exhibits,
            &[],
            "a machine",
        ))
        .figures
        .len()
    };
    exhibits[0].chart = chart(Vec::new());
    assert_eq!(drawn(&exhibits), 0);
    let (name, x, y) = ("read".to_owned(), vec![1024.0], vec![1000.0]);
    exhibits[0].chart = chart(vec![Series {
        name,
        style: switchcost_reproduce::Style::Found,
        x,
        y,
        intervals: Vec::new(),
    }]);
    assert_eq!(drawn(&exhibits), 1);
}

/// An upper limit is a triangle in the colour of its curve, and interrupts the curve; published
/// values and trials of curves have one entry each in the legend.
#[test]
fn a_curve_has_its_limits_and_shares_the_legend() {
    use switchcost_reproduce::Style;
    let series = |name: &str, style, x: &[f64]| Series {
        name: name.to_owned(),
        style,
        x: x.to_vec(),
        y: vec![1000.0; x.len()],
        intervals: Vec::new(),
    };
    let chart = Chart {
        x_title: "size".to_owned(),
        x_axis: Axis::Size,
        x_names: Vec::new(),
        y_title: "cost".to_owned(),
        y_axis: Axis::Time,
        series: vec![
            series("read", Style::Found, &[1024.0, 4096.0]),
            series("read, at most", Style::Bounds, &[2048.0]),
            series("read, published", Style::Published, &[1024.0, 4096.0]),
            series("read, trials", Style::Trials, &[1024.0]),
            series("write", Style::Found, &[1024.0]),
            series("write, published", Style::Published, &[1024.0]),
        ],
        marks: Vec::new(),
    };
    let figure = super::chart::draw(&chart, "a".to_owned(), "A".to_owned()).figure();
    let svg = figure.expect("a figure").svg.into_string();
    let triangle = "m-6 -5h12l-6 10z\" fill=\"none\" stroke=\"#0072B2\"";
    assert_eq!(svg.matches(triangle).count(), 1, "{svg}");
    for entry in [">read<", ">write<", ">published<", ">single trials<"] {
        let entries = svg.matches(&format!("{entry}/text>")).count();
        assert_eq!(entries, 1, "{entry} {svg}");
    }
    assert!(!svg.contains("read, at most</text>") && !svg.contains("read, published</text>"));
    assert!(
        svg.contains("read, published: 1.00 us"),
        "a tooltip has its source"
    );
}

#[test]
fn json_keeps_numbers_and_reasons() {
    let value = crate::conformity::read(rendered(Format::Json));
    assert_eq!(value["schema"], "switchcost.reproduce/3");
    assert_eq!(
        value["papers"].as_array().map(Vec::len),
        Some(2),
        "one object, whatever is asked for"
    );
    let value = &value["papers"][1];
    assert_eq!(value["paper"], "li2007");
    assert_eq!(
        value["verdicts"],
        serde_json::json!({
            "tested": {"holds": 1, "differs": 1, "not_told": 1},
            "calibrated": {"holds": 1, "differs": 0, "not_told": 0},
            "own": {"holds": 1, "differs": 0, "not_told": 0},
            "wrong_by_chance": 0.15000000000000002,
        })
    );
    let rows = &value["exhibits"][0]["table"]["rows"];
    assert_eq!(
        (&rows[0][1]["value"], &rows[1][1]["why"]),
        (
            &1.234.into(),
            &"a reason that is too long for a cell".into()
        )
    );
    assert_eq!(value["exhibits"][0]["claims"][1]["verdict"], "differs");
    assert_eq!(
        value["exhibits"][0]["claims"][1]["reasons"][0]["statement"],
        "the wind"
    );
    assert_eq!(value["exhibits"][0]["claims"][1]["why_not"], "the wind");
    assert!(value["exhibits"][0]["claims"][0].get("why_not").is_none());
    assert_eq!(
        value["exhibits"][0]["claims"][0]["rule"],
        serde_json::json!({"every": [0.5, null]})
    );
    assert_eq!(value["exhibits"][0]["claims"][0]["terms"][0]["low"], 0.9);
}

#[test]
fn csv_has_a_row_for_each_claim() {
    let text = rendered(Format::Csv);
    let rows: Vec<&str> = text.lines().collect();
    assert_eq!(rows.len(), 1 + 2 * 6);
    assert_eq!(
        rows[0],
        "paper,exhibit,title,id,kind,statement,quantity,rule,verdict,found,why"
    );
    assert_eq!(
        rows[2],
        "li2007,Figure 1,Cost by size,rises,tested,it rises,cost,every number above 0.500,differs,1.00 us,Shown by a-run: the wind (gusts: 3)."
    );
}

#[test]
fn the_table_of_claims_is_printed_in_each_format() {
    let papers = [Paper::Mogul1990, Paper::Li2007];
    let detailed = Style {
        is_detailed: true,
        ..Style::default()
    };
    let text = super::render_claims(&papers, Format::Table, detailed).replace("\n    ", " ");
    for part in [
        "no-asymptote",
        "the curve does not reach an asymptote",
        "ours: by more than a twentieth",
        "calibrated",
        "Fitted: ",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    for paper in Paper::iter() {
        let screen = super::render_claims(&[paper], Format::Table, Style::default());
        assert!(screen.lines().count() <= 45, "{screen}");
        assert!(
            screen.lines().all(|line| line.chars().count() <= 100),
            "{screen}"
        );
    }
    let json = super::render_claims(&papers, Format::Json, Style::default());
    let value = crate::conformity::read(json);
    let claims = value["papers"][0]["claims"].as_array().expect("claims");
    assert!(
        claims.len() > 30
            && claims
                .iter()
                .all(|claim| claim["rule"].is_object() && claim["place"].is_string())
    );
    let csv = super::render_claims(&papers, Format::Csv, Style::default());
    assert!(
        csv.starts_with("paper,exhibit,id,kind,statement,quotation,place,quantity,rule,bounds\n"),
        "{csv}"
    );
}

/// A page says once what the names of several numbers have in common, and no interval twice.
#[test]
fn a_page_of_markdown_does_not_repeat_itself() {
    let term = |name: &str| Term {
        name: name.to_owned(),
        value: 0.5,
        low: 0.4,
        high: 0.6,
    };
    let row = |names: &[&str]| {
        let mut exhibits = exhibits();
        let mut claim = some_claim();
        claim.entry.statement = "Small: it rises".to_owned();
        claim.terms = names.iter().map(|name| term(name)).collect();
        (claim.verdict, claim.alone) = (Verdict::Undecided, Verdict::Undecided);
        claim.missing = Some("the interval, 0.400 to 0.600, allows both verdicts".to_owned());
        exhibits[0].claims = vec![claim];
        let page = render_markdown(&Reproduction::new(Paper::Blog, &exhibits, &[], "a machine"));
        let row = page.lines().find(|line| line.starts_with("| Small"));
        row.expect("a row").to_owned()
    };
    let one = row(&["Small, b over a"]);
    assert!(
        one.ends_with("| b over a: 0.500 (0.400 to 0.600) | inconclusive |"),
        "{one}"
    );
    let two = row(&["x: b over a", "y: b over a"]);
    let end = "| b over a: x: 0.500 (0.400 to 0.600); y: 0.500 (0.400 to 0.600) | inconclusive: 0.400 to 0.600 |";
    assert!(two.ends_with(end), "{two}");
}

#[test]
fn a_page_of_markdown_has_each_claim_beside_its_figure() {
    let exhibits = exhibits();
    let (paper, commands) = (Paper::Blog, Vec::new());
    let page = render_markdown(&Reproduction::new(paper, &exhibits, &commands, "a machine"));
    let rows = page
        .lines()
        .filter(|line| line.starts_with("| it rises (p. 1) |"));
    assert_eq!(rows.count(), exhibits[0].claims.len());
    assert!(page.contains("| not reproduced: the wind |"), "{page}");
    assert!(
        page.contains(" Not so here: it rises (Figure 1)."),
        "{page}"
    );
    assert!(page.contains("\n## Figure 1: Cost by size\n"), "{page}");
}
