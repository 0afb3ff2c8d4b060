//! Tests the language runtimes that this machine has; missing ones are reported and counted.

use std::path::Path;

use serde_json::Value;

use crate::common::{Arguments, Place, items, number, text};

/// Measures with few, short processes.
fn measured(place: &Place, budget: &str, words: impl Arguments) -> Value {
    let usual = format!(
        "measure --mechanism fiber --max-repetitions 5 --no-counters --budget {budget} --format json"
    );
    let mut command = place.command((&format!("{usual} --record run.jsonl"), words));
    // Compiled programs are reused between test runs.
    let cache = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/runtimes");
    command.env("XDG_CACHE_HOME", cache);
    crate::common::ran(command.output().expect("the program starts")).json()
}

fn of<'a>(json: &'a Value, name: &str) -> &'a Value {
    let is_it = |result: &&Value| result["runtime"].as_str() == Some(name);
    items(&json["results"])
        .iter()
        .find(is_it)
        .unwrap_or_else(|| panic!("no {name} in {json}"))
}

/// The test makes one hand-off measurement of each runtime. It checks that the token was handed on,
/// and the order of magnitude, not the exact cost.
#[test]
fn hand_offs_of_six_runtimes_are_measured() {
    let place = Place::new();
    let list = "go/channel,java/virtual-park,python/generator,node/await,tokio/channel,cpp/condvar";
    let json = measured(&place, "40s", format!("--runtime {list}"));
    for (name, least_ns, most_ns) in [
        ("go", 20.0, 2_000.0),
        ("java", 20.0, 20_000.0),
        ("python", 2.0, 500.0),
        ("node", 5.0, 2_000.0),
        ("tokio", 5.0, 2_000.0),
        ("cpp", 200.0, 40_000.0),
    ] {
        let result = of(&json, name);
        let Some(cost) = result["handoff_ns"]["estimate"].as_f64() else {
            println!("skipped: {name}: {}", result["why"]);
            continue;
        };
        assert!((least_ns..most_ns).contains(&cost), "{name}: {cost}");
        let versions = items(&json["runtimes"]).iter();
        let facts = versions
            .filter(|facts| facts["name"].as_str() == Some(name))
            .collect::<Vec<_>>();
        assert!(
            facts.len() == 1
                && facts[0]["version"]
                    .as_str()
                    .is_some_and(|said| !said.is_empty()),
            "{name}: {facts:?}"
        );
        let kernel = number(&result["switches_per_handoff"]);
        assert!(
            if name == "cpp" {
                kernel > 0.8
            } else {
                kernel < 0.3
            },
            "{name}: {kernel} switches of the kernel"
        );
    }
}

/// Returns the numbers of ended processes that have left files named `prefix` and the number in
/// `folder`.
fn left_in(folder: &str, prefix: &str) -> Vec<u32> {
    let names = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name());
    let numbers = names.filter_map(|name| name.to_str()?.strip_prefix(prefix)?.parse::<u32>().ok());
    numbers
        .filter(|number| !Path::new(&format!("/proc/{number}")).exists())
        .collect()
}

/// Shows that runtimes, which are killed when their work is done, leave no counters behind.
#[test]
fn runtimes_leave_no_counters_behind() {
    let user = std::env::var("USER").unwrap_or_else(|_| "root".to_owned());
    let folders = [
        ("/dev/shm".to_owned(), "mono."),
        (format!("/tmp/hsperfdata_{user}"), ""),
    ];
    let left = || {
        folders
            .each_ref()
            .map(|(folder, prefix)| left_in(folder, prefix))
    };
    let (place, before) = (Place::new(), left());
    let json = measured(&place, "10s", "--runtime mono/semaphore,java/virtual-park");
    for name in ["mono", "java"]
        .iter()
        .filter(|name| of(&json, name)["handoff_ns"]["estimate"].is_null())
    {
        println!("skipped: {name}: {}", of(&json, name)["why"]);
    }
    for (at, after) in left().into_iter().enumerate() {
        let new: Vec<u32> = after
            .into_iter()
            .filter(|number| !before[at].contains(number))
            .collect();
        assert!(new.is_empty(), "{new:?} in {}", folders[at].0);
    }
}

/// Returns a shell script that reports what a ring with hand-offs of this duration would, and a row
/// of TOML for it, as a reader would add one.
fn made_up(folder: &Path, name: &str, handoff_ns: u32) -> String {
    let script = format!(
        "read plan; echo '{{\"ready\":\"made-up\"}}'; while read line; do
         rounds=${{line##*:}}; rounds=${{rounds%\\}}}}; case $line in *switch*) each={handoff_ns};; *) each=100;; esac
         echo '{{\"ns\":'$((rounds*2*each))',\"handoffs\":'$((rounds*2))'}}'; done\n"
    );
    let row = format!(
        "name = '{name}'\ntitle = 'Made up'\nfind = ['sh']\nversion = ['{{program}}', '-c', 'echo 1.0']\nleast = '1'\n\
         files = ['{name}.sh']\nstart = ['{{program}}', '{{source}}/{name}.sh']\nwarm-up-ms = 5\ninstall = 'none'\n\
         [[handoff]]\nname = 'token'\nwords = 'made-up hand-off'\nclass = 'hand-off'\nbetween = 'user'\nbaseline = '100 ns'\n"
    );
    std::fs::write(folder.join(format!("{name}.sh")), script).expect("room");
    let path = folder.join(format!("{name}.toml"));
    std::fs::write(&path, row).expect("room");
    text(&path).to_owned()
}

/// Only the printed result is checked. A core whose speed changes during the run makes it
/// imprecise, so the run is repeated then.
#[test]
fn a_made_up_runtime_has_the_cost_that_it_was_made_with() {
    let known = [
        ("short", 300, 200.0),
        ("medium", 2_100, 2_000.0),
        ("long", 20_100, 20_000.0),
    ];
    let mut last = Vec::new();
    for _ in 0..4 {
        let place = Place::new();
        let rows = known
            .map(|(name, handoff_ns, _)| made_up(place.folder(), name, handoff_ns))
            .join(",");
        let json = measured(&place, "8s", format!("--runtime {rows}"));
        last = known
            .map(|(name, _, truth)| {
                of(&json, name)["handoff_ns"]["estimate"]
                    .as_f64()
                    .unwrap_or(0.0)
                    / truth
            })
            .to_vec();
        if last.iter().all(|ratio| (ratio - 1.0).abs() < 0.02) {
            return;
        }
    }
    panic!("found {last:?} times what they were made with");
}

/// Returns the content of a page's code block of this language.
fn printed<'a>(page: &'a str, language: &str) -> &'a str {
    let (_, behind) = page
        .split_once(&format!("```{language}\n"))
        .unwrap_or_else(|| panic!("no {language}"));
    behind.split("```").next().unwrap_or_default()
}

#[test]
fn the_runtime_that_the_page_adds_is_measured_as_it_is_printed_there() {
    let place = Place::new();
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/method/runtimes.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let (row, program) = (
        place.folder().join("runtime.toml"),
        place.folder().join("ring.py"),
    );
    std::fs::write(&row, printed(&page, "toml")).expect("room");
    std::fs::write(program, printed(&page, "python")).expect("room");
    // Five repetitions are needed, which take a second each if other tests use the CPUs.
    let json = measured(&place, "8s", ["--runtime", text(&row)]);
    let result = of(&json, "ring");
    let cost = result["handoff_ns"]["estimate"]
        .as_f64()
        .unwrap_or_else(|| panic!("{result}"));
    assert!((5.0..5_000.0).contains(&cost), "{cost}");
    assert_eq!(
        (
            result["runtime_handoff"].as_str(),
            result["runtime_class"].as_str()
        ),
        (Some("turn"), Some("hand-off"))
    );
}

#[test]
fn a_runtime_that_fails_is_reported_by_name_and_the_others_go_on() {
    let place = Place::new();
    let good = made_up(place.folder(), "good", 300);
    let list = format!("{good},go=/nonexistent/go");
    let words = "measure --mechanism fiber --max-repetitions 5 --budget 5s --record run.jsonl";
    let mut command = place.command(format!(
        "{words} --runtime {list} --runtime-command \"sh -c 'echo the reason >&2; exit 3'\""
    ));
    command.env("XDG_CACHE_HOME", place.folder());
    let ran = crate::common::ran(command.output().expect("the program starts"));
    ran.assert_code(3);
    let printed = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        printed.contains("not measured: go/channel, go/cond, go/gosched (/nonexistent/go is not there, and Go 1.22 or newer is \
                          needed; sudo apt install"),
        "{printed}"
    );
    assert!(
        printed.contains("not measured: sh/hand-off (sh ended early (exit status: 3)")
            && printed.contains("it printed: the reason"),
        "{printed}"
    );
    assert!(printed.contains("good/token"), "{printed}");
    for (list, why) in [
        ("cobol", "no runtime 'cobol'\nhint: use one of go, java"),
        (
            "go/pipe",
            "no hand-off of go 'pipe'\nhint: use one of channel",
        ),
    ] {
        place
            .run(format!("measure --runtime {list}"))
            .assert_failed(2, why);
    }
}
