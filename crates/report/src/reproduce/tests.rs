use ::reproduce::{Cell, Claim, Exhibit, Paper, Shape, Table};

use super::{Command, Reproduction, render, tally};
use crate::{Format, Style};

fn exhibits() -> Vec<Exhibit> {
    let claim = |shape| Claim { statement: "it rises".to_owned(), found: "1.00 us".to_owned(), shape };
    vec![Exhibit {
        name: "Figure 1".to_owned(),
        title: "Cost by size".to_owned(),
        claims: vec![
            claim(Shape::Holds),
            claim(Shape::Differs("the wind".to_owned())),
            Claim { found: String::new(), ..claim(Shape::NotShown("no record".to_owned())) },
        ],
        table: Table {
            columns: vec!["size".to_owned(), "us".to_owned()],
            rows: vec![
                vec![Cell::Text("1 KiB\u{1b}[2J".to_owned()), Cell::Number { value: 1.234, decimals: 1 }],
                vec![Cell::Text("2 KiB".to_owned()), Cell::Missing { why: "a reason that is too long".to_owned() }],
            ],
        },
        chart: None,
        notes: vec!["A note.".to_owned()],
        steps: Vec::new(),
    }]
}

fn rendered(format: Format) -> String {
    let exhibits = exhibits();
    let commands = [Command { step: "a".to_owned(), line: "switchcost measure".to_owned(), missing: None }];
    let reproduction =
        Reproduction { paper: Paper::Li2007, exhibits: &exhibits, commands: &commands, machine: "a machine" };
    render(&[reproduction, reproduction], format, Style { is_detailed: true, ..Style::default() })
}

#[test]
fn each_verdict_is_said_with_its_reason() {
    let text = rendered(Format::Table).replace("\n  ", " ").replace('\n', " ");
    assert_eq!(tally(&exhibits()), [1, 1, 1]);
    for part in [
        "of 3 claims, 1 is reproduced, 1 is not reproduced, and 1 is inconclusive",
        "it rises (reproduced). Found: 1.00 us.",
        "it rises (not reproduced). Found: 1.00 us. A possible reason: the wind.",
        "it rises (inconclusive). Missing: no record.",
        "A note.",
        "switchcost measure",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(!text.contains('\u{1b}'), "{text:?}");
}

#[test]
fn the_screen_begins_with_what_is_not_reproduced() {
    let exhibits: Vec<Exhibit> = (0..30).flat_map(|_| exhibits()).collect();
    let reproduction = Reproduction { paper: Paper::Li2007, exhibits: &exhibits, commands: &[], machine: "a machine" };
    for papers in [&[reproduction][..], &[reproduction; 5]] {
        let text = render(papers, Format::Table, Style::default());
        assert!(text.replace('\n', " ").contains("of 90 claims, 30 are reproduced, 30 are not"), "{text}");
        assert!(text.lines().count() <= 45 && text.lines().all(|line| line.chars().count() <= 100), "{text}");
        let place = |words: &str| text.find(words).unwrap_or_else(|| panic!("no '{words}' in {text}"));
        assert!(place("of 90 claims") < place("\nNot reproduced\n"), "{text}");
        assert!(place("Figure 1: it rises. Found: 1.00 us") < place("\nInconclusive\n"), "{text}");
    }
}

#[test]
fn json_keeps_numbers_and_reasons() {
    let value: serde_json::Value = serde_json::from_str(&rendered(Format::Json)).expect("JSON");
    assert_eq!(value["schema"], "switchcost.reproduce/1");
    assert_eq!(value["papers"].as_array().map(Vec::len), Some(2), "one object, whatever is asked for");
    let value = &value["papers"][1];
    assert_eq!(value["paper"], "li2007");
    assert_eq!(value["verdicts"], serde_json::json!({"holds": 1, "differs": 1, "not_shown": 1}));
    let rows = &value["exhibits"][0]["table"]["rows"];
    assert_eq!((&rows[0][1]["value"], &rows[1][1]["why"]), (&1.234.into(), &"a reason that is too long".into()));
    assert_eq!(value["exhibits"][0]["claims"][1]["verdict"], "differs");
    assert_eq!(value["exhibits"][0]["claims"][1]["why"], "the wind");
}

#[test]
fn csv_has_a_row_for_each_claim() {
    let text = rendered(Format::Csv);
    let rows: Vec<&str> = text.lines().collect();
    assert_eq!(rows.len(), 1 + 2 * 3);
    assert_eq!(rows[0], "paper,exhibit,title,statement,verdict,found,why");
    assert_eq!(rows[2], "li2007,Figure 1,Cost by size,it rises,differs,1.00 us,the wind");
}
