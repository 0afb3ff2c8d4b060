//! Tests that disturbed, uncounted and unprivileged runs give no number, or only one with a note,
//! and that known answers are found.

use std::process::{Child, Command, Stdio};

use crate::common::{
    Arguments, PROGRAM, Place, allowed_cpus, finished, has_flag, is_disturbed, is_root, items,
    number,
};
use serde_json::Value;

/// A process that uses one CPU completely; it is ended when dropped.
struct Hog(Child);

impl Hog {
    fn on(cpu: &str) -> Hog {
        let mut command = Command::new("taskset");
        command
            .args(["-c", cpu, "sh", "-c", "while :; do :; done"])
            .stdout(Stdio::null());
        Hog(command.spawn().expect("taskset is part of util-linux"))
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Measures next to a hog: a task that takes half of the CPU, in time slices between those of the
/// measured tasks.
#[test]
fn under_a_hog_without_real_time_rights_a_number_is_marked_as_from_beside_it() {
    let place = Place::alone();
    let cpu = allowed_cpus().last().expect("one CPU").to_string();
    let _hog = Hog::on(&cpu);
    let ran = place.measure(format!(
        "--mechanism pipe,futex --no-rt --cpu {cpu} --format json"
    ));
    ran.assert_result();
    let json = ran.json();
    for result in items(&json["results"]) {
        if result["status"] == "not-measured" {
            assert!(
                result["direct_ns"].is_null() && result["handoff_ns"].is_null(),
                "{result}"
            );
            eprintln!("skipped: {}", result["why"]);
            continue;
        }
        assert!(
            has_flag(result, "beside-others") && number(&result["direct_ns"]["estimate"]) > 0.0,
            "{result}"
        );
        let table = place.run("report run.jsonl").stdout;
        assert!(table.contains("with other tasks on the CPU"), "{table}");
    }
}

#[test]
fn a_yield_on_an_empty_run_queue_is_caught() {
    let place = Place::alone();
    // With two tasks on two CPUs, each yields to no task, and that time looks like a fast switch.
    if allowed_cpus().len() < 2 {
        eprintln!("skipped: there is one CPU");
        return;
    }
    let result = &place.measure_json("--mechanism yield --placement pair")["results"][0];
    assert_eq!(result["status"], "not-measured", "{result}");
    assert!(has_flag(result, "switch-count"), "{result}");
    // Other tasks on a CPU cause switches, too.
    let why = result["why"].as_str().unwrap_or_default();
    let (_, counted) = why.split_once("counted ").expect("a count");
    let counted = counted
        .split(' ')
        .next()
        .and_then(|count| count.parse::<f64>().ok());
    assert!(counted.is_some_and(|counted| counted < 0.5), "{result}");
    assert!(
        result["direct_ns"].is_null() && result["handoff_ns"].is_null(),
        "{result}"
    );
}

/// Checks that most of up to eight runs recover the synthetic costs to within the shares in
/// `made_up`. Load on a virtual machine's host may shift some runs unnoticed; an error of
/// switchcost would shift or scatter all runs. A run that reports a disturbance does not count.
fn is_recovered(flags: &str, made_up: &[(&str, f64, f64)]) -> Result<(), String> {
    let (mut recovered, mut missed) = (0, Vec::new());
    for _ in 0..8 {
        let result = &Place::alone().measure_json(flags)["results"][0];
        // A single arm may have been disturbed in every repetition.
        if is_disturbed(result) || made_up.iter().any(|(name, ..)| result[*name].is_null()) {
            continue;
        }
        match made_up
            .iter()
            .find_map(|expected| difference(result, expected))
        {
            None => recovered += 1,
            Some(difference) => missed.push(difference),
        }
        if recovered == 3 && missed.is_empty() {
            return Ok(());
        }
    }
    if recovered + missed.len() < 4 {
        eprintln!("skipped: fewer than four of eight runs were left alone");
        return Ok(());
    }
    if recovered > missed.len() {
        Ok(())
    } else {
        Err(missed.join("; "))
    }
}

fn difference(result: &Value, (name, nanos, share): &(&str, f64, f64)) -> Option<String> {
    let found = number(&result[*name]["estimate"]);
    ((found / nanos - 1.0).abs() >= *share).then(|| format!("found {found} ns of {nanos} ns"))
}

#[test]
fn a_made_up_reload_is_recovered_within_five_percent() {
    // A walk this short loses hardly anything by an interruption. A walk of 16 KiB loses up to 0.4
    // us if two such arrays just fill a first level, which is a true cost, not a synthetic one.
    let flags = "--mechanism synthetic --size 4KiB --synthetic-switch 2us --synthetic-reload 5us";
    let made_up = [("indirect_ns", 5000.0, 0.05), ("direct_ns", 2000.0, 0.02)];
    assert_eq!(is_recovered(flags, &made_up), Ok(()));
}

#[test]
fn the_condvars_second_switch_is_counted_and_not_assumed() {
    let place = Place::alone();
    let arguments = "--mechanism mutex-condvar,mutex-condvar-unlocked --between thread --no-rt";
    let Some(json) = place.measure_undisturbed(arguments) else {
        return;
    };
    let [locked, unlocked] =
        [0, 1].map(|case| number(&json["results"][case]["switches_per_handoff"]));
    // A task that is notified under the lock blocks on it, and switches once more; a task that is
    // notified after unlocking does not. An assumed number would be equal for both.
    assert!(
        (0.95..1.5).contains(&unlocked),
        "{unlocked} a hand-off, notified after unlocking"
    );
    assert!(
        locked > 1.3 * unlocked && locked < 2.6,
        "{locked} a hand-off, notified under the lock"
    );
    let result = &json["results"][0];
    let (direct, handoff) = (
        number(&result["direct_ns"]["estimate"]),
        number(&result["handoff_ns"]["estimate"]),
    );
    assert!(
        (direct * locked / handoff - 1.0).abs() < 0.05,
        "{direct} x {locked} against {handoff}"
    );
}

#[test]
fn without_rights_it_runs_and_names_what_it_could_not_have() {
    if !is_root() {
        eprintln!("skipped: already without rights, which the other tests then show");
        return;
    }
    let place = Place::alone();
    let folder = place.folder();
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(folder, open).expect("own folder");
    // The build folder may be in a place that other users cannot read, so a copy is run.
    let binary = place.path("switchcost");
    std::fs::copy(PROGRAM, &binary).expect("a copy");
    let rights = "--reuid=65534 --regid=65534 --clear-groups --inh-caps=-all --bounding-set=-all";
    let words = "measure --mechanism futex --max-repetitions 6 --details --record nobody.jsonl";
    let mut command = Command::new("setpriv");
    command.args(rights.words()).arg(binary).args(words.words());
    command.current_dir(folder).env("XDG_STATE_HOME", folder);
    finished(command.env("HOME", folder))
        .assert_result()
        .assert_output("real-time-priority")
        .assert_output("/etc/security/limits.d/switchcost.conf");
}
