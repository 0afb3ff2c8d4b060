//! Runs the commands of the guide and the README as they are printed: each must succeed, and print
//! tables with the headings that the page shows. Measurements get less time than a reader would
//! give them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{Arguments, Place, repository};
use crate::system::is_without_guest;
use switchcost_units::Nanos;

/// Upper limit of documented `--budget` values.
const LONGEST_BUDGET: &str = "1s";

/// Budget in place of the default for a measurement of everything: 10 s gave too few repetitions
/// for a number.
const LONGEST_DEFAULT: &str = "18s";

/// Columns that are printed only if they have content.
const OPTIONAL: [&str; 4] = ["notes", "+-", "direct", "cost"];

/// A command line of a page, with the output that the page shows.
#[derive(Debug, PartialEq)]
struct Example {
    command: Vec<String>,
    output: String,
}

/// Returns the README and every page of the guide.
fn pages() -> Vec<PathBuf> {
    let entries = fs::read_dir(repository("docs/guide")).expect("the guide");
    let mut pages: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    pages.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    pages.sort();
    pages.insert(0, repository("README.md"));
    pages
}

/// Returns the examples of a page: the content of each ```` ```console ```` block, split at each
/// line that begins with `$ `.
fn examples(page: &str) -> Vec<Example> {
    let blocks = page
        .split("```console\n")
        .skip(1)
        .filter_map(|rest| rest.split("\n```").next());
    let parts = blocks.flat_map(|block| block.strip_prefix("$ ").unwrap_or(block).split("\n$ "));
    let example = |part: &str| {
        let (line, output) = part.split_once('\n').unwrap_or((part, ""));
        let mut words = shlex::split(line).unwrap_or_else(|| panic!("quotes are open: {line}"));
        assert_eq!(
            words.remove(0),
            "switchcost",
            "a command of another program: {line}"
        );
        Example {
            command: words,
            output: output.to_owned(),
        }
    };
    parts.map(example).collect()
}

/// Returns the titles of tables with the words of their headings. The heading is the text above
/// each line of `─`, back to an empty line; wrapped words continue after spaces. The second half of
/// a table that was too wide has the title of the first.
fn tables(output: &str) -> Vec<(String, BTreeSet<String>)> {
    let lines: Vec<&str> = output.lines().collect();
    let is_rule = |line: &str| line.starts_with('─') && line.chars().all(|c| c == '─');
    let rules = (1..lines.len()).filter(|place| is_rule(lines[*place]));
    let table = |rule: usize| {
        let first = lines[..rule]
            .iter()
            .rposition(|line| line.trim().is_empty())
            .map_or(0, |blank| blank + 1);
        let beginnings: Vec<usize> = (first..rule)
            .filter(|place| !lines[*place].starts_with(' '))
            .collect();
        let (title, headings) = match beginnings[..] {
            [title, .., headings] => (title, headings),
            // The first heading may follow spaces if its column has numbers.
            [title] if title == first && rule - first > 1 => (first, first + 1),
            _ => (rule, first),
        };
        let title = if title < rule {
            lines[title].split(':').next().unwrap_or_default()
        } else {
            ""
        };
        let words = lines[headings..rule]
            .iter()
            .flat_map(|line| line.split_whitespace())
            .map(str::to_owned)
            .collect();
        (title.to_owned(), words)
    };
    let mut last_title = String::new();
    let with_title = |(title, words): (String, BTreeSet<String>)| {
        if !title.is_empty() {
            last_title = title;
        }
        (last_title.clone(), words)
    };
    rules.map(table).map(with_title).collect()
}

/// Returns the headings of the documented output that the real output lacks.
fn missing(documented: &str, real: &str) -> Vec<String> {
    let real = tables(real);
    let mut missing = Vec::new();
    for (title, words) in tables(documented) {
        // A wide table is divided in two under one title, and headings are wrapped if a column is
        // narrow.
        let found: BTreeSet<&String> = real
            .iter()
            .filter(|(other, _)| *other == title)
            .flat_map(|(_, words)| words)
            .collect();
        if found.is_empty() {
            missing.push(format!("the table '{title}'"));
            continue;
        }
        let lacks = |word: &&String| !found.contains(word) && !OPTIONAL.contains(&word.as_str());
        missing.extend(
            words
                .iter()
                .filter(lacks)
                .map(|word| format!("'{word}' in the table '{title}'")),
        );
    }
    missing
}

/// Returns `command` with less time to measure.
fn shortened(command: &[String]) -> Vec<String> {
    let mut short = command.to_vec();
    if let Some(budget) = short
        .iter()
        .position(|word| word == "--budget")
        .and_then(|flag| short.get_mut(flag + 1))
    {
        let time = |text: &str| {
            text.parse::<Nanos>()
                .unwrap_or_else(|_| panic!("no time: {text}"))
        };
        if time(budget) > time(LONGEST_BUDGET) {
            *budget = LONGEST_BUDGET.to_owned();
        }
    } else if command[0] == "measure" {
        short.extend(["--budget", LONGEST_DEFAULT].map(str::to_owned));
    }
    short
}

/// Returns the exit codes that a command may have on a sound machine, however busy it is.
fn allowed_codes(command: &[String]) -> &'static [i32] {
    match command[0].as_str() {
        "measure" | "compare" => &[0, 3],
        "doctor" => &[0, 3, 4],
        _ => &[0],
    }
}

/// Whether a page has commands that measure.
fn measures(page: &str) -> bool {
    examples(page)
        .iter()
        .any(|example| example.command[0] == "measure")
}

/// Runs the commands of all pages that measure, or of all others, each page in its own folder.
fn run_pages(that_measure: bool) {
    let mut wrong = Vec::new();
    for page in pages() {
        let text = fs::read_to_string(&page).expect("a page");
        if measures(&text) == that_measure {
            wrong.extend(run_page(&page, &text, &Place::new()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// Returns the faults of a page; its commands build upon each other.
fn run_page(page: &Path, text: &str, place: &Place) -> Vec<String> {
    let mut wrong = Vec::new();
    for example in examples(text) {
        let command = shortened(&example.command);
        let ran = place.run(&command);
        if is_without_guest(&ran) {
            // The following commands need the trace, which does not exist.
            break;
        }
        let line = format!("{}: switchcost {}", page.display(), command.join(" "));
        if !allowed_codes(&command).contains(&ran.code) {
            wrong.push(format!("{line}: ended with {}: {}", ran.code, ran.stderr));
            continue;
        }
        // The report on an observed command is on standard error.
        let missing = missing(&example.output, &(ran.stdout.clone() + &ran.stderr));
        if matches!(command[0].as_str(), "measure" | "compare")
            && ran.code == 3
            && !missing.is_empty()
        {
            // Another task on this machine prevented a number, and so there is no column for it.
            eprintln!(
                "skipped: {line}: not measured, and so without {}",
                missing.join(", ")
            );
        } else if !missing.is_empty() {
            wrong.push(format!(
                "{line}: does not print {}:\n{}",
                missing.join(", "),
                ran.stdout
            ));
        }
    }
    wrong
}

#[test]
#[ignore = "takes long: make test ARGS=--all"]
fn every_command_of_a_page_that_measures_runs_and_prints_the_tables_that_the_page_shows() {
    run_pages(true);
}

#[test]
fn every_other_command_runs_and_prints_the_tables_that_the_page_shows() {
    run_pages(false);
}

#[test]
fn every_page_has_a_command_and_every_output_a_table() {
    for page in pages() {
        let text = fs::read_to_string(&page).expect("a page");
        let examples = examples(&text);
        let is_index = page.ends_with("docs/guide/README.md");
        assert!(
            is_index || !examples.is_empty(),
            "{} has no command",
            page.display()
        );
        for example in examples {
            // A command that only makes a file for the next command shows nothing, and the check-up
            // shows a list.
            let is_silent = example.output.trim().is_empty() || example.command[0] == "doctor";
            assert!(
                is_silent || !tables(&example.output).is_empty(),
                "{}: {:?}",
                page.display(),
                example.command
            );
        }
    }
}

#[test]
fn a_heading_that_is_no_longer_printed_is_found() {
    let documented =
        "answer\n\nCosts: of all\nname  old  notes\n────\na  1\n\nGone\nname  x\n────\n";
    let real = "answer\n\nCosts: of some\nname  new\n────\na  1\n";
    assert_eq!(
        missing(documented, real),
        ["'old' in the table 'Costs'", "the table 'Gone'"]
    );
    assert_eq!(missing(documented, documented), [""; 0]);
    let wrapped = "Costs: of all\n  that there are\nname  reload\n       bound\n────\n";
    let words = ["bound", "name", "reload"].map(str::to_owned);
    assert_eq!(
        tables(wrapped),
        [("Costs".to_owned(), BTreeSet::from(words))]
    );
    let wide = "Costs: of all\nname  old\n────\na  1\n\nname  notes\n────\na  none\n";
    assert_eq!(missing(documented, wide), ["the table 'Gone'"]);
    let numbers = "Costs: of 2 tasks\n  size  cost\n────\n";
    let words = ["cost", "size"].map(str::to_owned);
    assert_eq!(
        tables(numbers),
        [("Costs".to_owned(), BTreeSet::from(words))]
    );
}

#[test]
fn commands_are_taken_from_console_blocks_alone() {
    let page = "text\n```sh\nswitchcost no\n```\n```console\n$ switchcost a 'b c'\nout\n\nmore\n$ switchcost d\n```\nend";
    let example = |line: &str, output: &str| Example {
        command: line.words(),
        output: output.to_owned(),
    };
    assert_eq!(
        examples(page),
        [example("a 'b c'", "out\n\nmore"), example("d", "")]
    );
    for (command, expected) in [
        (
            "measure --budget 18s --quick",
            "measure --budget 1s --quick",
        ),
        ("measure", "measure --budget 18s"),
        ("report", "report"),
    ] {
        assert_eq!(shortened(&command.words()), expected.words());
    }
}
