//! Tests the language runtimes that this machine has; missing ones are reported and counted.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::common::{Arguments, Place, finished, in_one_line, items, number, repository, text};

/// Measures with few, short processes.
fn measured(place: &Place, budget: &str, words: impl Arguments) -> Value {
    let usual = format!(
        "measure --mechanism fiber --max-repetitions 5 --no-counters --budget {budget} --format json"
    );
    let mut command = place.command((&format!("{usual} --record run.jsonl"), words));
    // Compiled programs are reused between test runs.
    finished(command.env("XDG_CACHE_HOME", repository("target/runtimes"))).json()
}

fn of<'a>(json: &'a Value, name: &str) -> &'a Value {
    let mut results = items(&json["results"]).iter();
    let found = results.find(|result| result["runtime"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {json}"))
}

/// The test makes one hand-off measurement of each runtime. It checks that the token was handed on,
/// and the order of magnitude, not the exact cost; and that runtimes, which are killed when their
/// work is done, leave no counters behind.
#[test]
fn hand_offs_of_seven_runtimes_are_measured() {
    let (place, before) = (Place::new(), left());
    let list = "go/channel,java/virtual-park,python/generator,node/await,tokio/channel,cpp/condvar,mono/semaphore";
    let json = measured(&place, "40s", ["--runtime", list]);
    let new: Vec<PathBuf> = left().difference(&before).cloned().collect();
    assert_eq!(new, [] as [PathBuf; 0]);
    if of(&json, "mono")["handoff_ns"]["estimate"].is_null() {
        println!("skipped: mono: {}", of(&json, "mono")["why"]);
    }
    for (name, handoff, least_ns, most_ns) in [
        ("go", "channel", 20.0, 2_000.0),
        ("java", "virtual-park", 20.0, 20_000.0),
        ("python", "generator", 2.0, 500.0),
        ("node", "await", 5.0, 2_000.0),
        ("tokio", "channel", 5.0, 2_000.0),
        ("cpp", "condvar", 200.0, 40_000.0),
    ] {
        let mut json = json.clone();
        for attempt in 1.. {
            let result = of(&json, name);
            let Some(cost) = result["handoff_ns"]["estimate"].as_f64() else {
                println!("skipped: {name}: {}", result["why"]);
                break;
            };
            assert!((least_ns..most_ns).contains(&cost), "{name}: {cost}");
            let versions = items(&json["runtimes"]).iter();
            let versions = versions.filter(|facts| facts["name"] == name);
            let versions: Vec<_> = versions.map(|facts| facts["version"].as_str()).collect();
            assert!(
                matches!(versions[..], [Some(said)] if !said.is_empty()),
                "{name}: {versions:?}"
            );
            let kernel = number(&result["switches_per_handoff"]);
            let is_so = if name == "cpp" {
                kernel > 0.8
            } else {
                kernel < 0.3
            };
            if is_so {
                break;
            }
            // On a busy machine, other threads of a runtime may take the CPU from the token's.
            let problem = format!("{name}: {kernel} switches of the kernel: {result}");
            assert!(attempt < 3, "{problem}");
            println!("{problem}");
            let alone = format!("{name}/{handoff}");
            json = measured(&Place::new(), "20s", ["--runtime", &alone]);
        }
    }
}

/// Returns the files that ended processes have left: counters of Mono and of Java.
fn left() -> BTreeSet<PathBuf> {
    let user = std::env::var("USER").unwrap_or_else(|_| "root".to_owned());
    let mut left = BTreeSet::new();
    for (folder, prefix) in [
        ("/dev/shm", "mono."),
        (&format!("/tmp/hsperfdata_{user}"), ""),
    ] {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name().into_string().unwrap_or_default();
            let number = name
                .strip_prefix(prefix)
                .and_then(|rest| rest.parse::<u32>().ok());
            if number.is_some_and(|number| !Path::new(&format!("/proc/{number}")).exists()) {
                left.insert(entry.path());
            }
        }
    }
    left
}

/// Returns the path of a TOML row for a made-up runtime, as a reader would add one. The runtime is
/// a shell script that reports what a ring with hand-offs of `handoff_ns` would.
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
        let row = |(name, handoff_ns, _)| made_up(place.folder(), name, handoff_ns);
        let json = measured(&place, "8s", ["--runtime", &known.map(row).join(",")]);
        let estimate = |name| {
            of(&json, name)["handoff_ns"]["estimate"]
                .as_f64()
                .unwrap_or(0.0)
        };
        last = known
            .map(|(name, _, truth)| estimate(name) / truth)
            .to_vec();
        if last.iter().all(|ratio| (ratio - 1.0).abs() < 0.02) {
            return;
        }
    }
    panic!("found {last:?} times what they were made with");
}

/// Returns the content of a page's code block in `language`.
fn printed<'a>(page: &'a str, language: &str) -> &'a str {
    let (_, behind) = page
        .split_once(&format!("```{language}\n"))
        .unwrap_or_else(|| panic!("no {language}"));
    behind.split("```").next().unwrap_or_default()
}

#[test]
fn the_runtime_that_the_page_adds_is_measured_as_it_is_printed_there() {
    let place = Place::new();
    let page = std::fs::read_to_string(repository("docs/method/runtimes.md")).expect("the page");
    for (name, language) in [("runtime.toml", "toml"), ("ring.py", "python")] {
        std::fs::write(place.path(name), printed(&page, language)).expect("room");
    }
    // Five repetitions are needed, which take a second each if other tests use the CPUs.
    let json = measured(&place, "8s", "--runtime ./runtime.toml");
    let result = of(&json, "ring");
    let cost = number(&result["handoff_ns"]["estimate"]);
    assert!((5.0..5_000.0).contains(&cost), "{cost}");
    assert!(
        result["runtime_handoff"] == "turn" && result["runtime_class"] == "hand-off",
        "{result}"
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
    let ran = finished(command.env("XDG_CACHE_HOME", place.folder()));
    ran.assert_code(3);
    let printed = in_one_line(&ran.stdout);
    for words in [
        "not measured: go/channel, go/cond, go/gosched (/nonexistent/go is not there, and Go 1.22 or newer is needed; sudo apt install",
        "not measured: sh/hand-off (sh ended early (exit status: 3)",
        "it printed: the reason",
        "good/token",
    ] {
        assert!(printed.contains(words), "{printed}");
    }
}
