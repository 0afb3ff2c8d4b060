use switchcost_record::{Fitness, Severity};
use switchcost_report::{Format, Style, doctor};

use crate::text::{DETAILED, begins, has, is_harmless};

fn fitness(text: &str) -> Fitness {
    serde_json::from_str(text).expect("a check-up")
}

fn usual() -> Fitness {
    fitness(
        r#"{"schema": "switchcost.doctor/1", "verdict": "caveat", "checks": [
            {"name": "clock", "severity": "fit", "found": "tsc, invariant", "wanted": "an invariant TSC", "fix": "", "lasting_fix": ""},
            {"name": "real-time priority", "severity": "caveat", "found": "no cap_sys_nice, and RLIMIT_RTPRIO is 0", "wanted": "SCHED_FIFO allowed",
             "fix": "sudo prlimit --rtprio=99 --pid $$",
             "lasting_fix": "echo '@users - rtprio 99' | sudo tee /etc/security/limits.d/rt.conf"},
            {"name": "hypervisor", "severity": "caveat", "found": "kvm: other guests may take the CPU at any time", "wanted": "none",
             "fix": "", "lasting_fix": ""},
            {"name": "huge pages", "severity": "fit", "found": "madvise", "wanted": "always or madvise",
             "fix": "never shown", "lasting_fix": "never shown"}
        ]}"#,
    )
}

fn render(fitness: &Fitness, format: Format) -> String {
    doctor::render(fitness, format, DETAILED)
}

#[test]
fn a_check_up() {
    insta::assert_snapshot!(render(&usual(), Format::Table));
}

#[test]
fn the_verdict_comes_first() {
    let mut fitness = usual();
    begins(
        &render(&fitness, Format::Table),
        "Usable with caveats: 2 of 4 checks found a possible disturbance.\n",
    );
    fitness.verdict = Severity::Unfit;
    fitness.checks[2].severity = Severity::Unfit;
    begins(
        &render(&fitness, Format::Table),
        "Unfit for measuring: 1 of 4 checks failed, and 1 found a possible disturbance.\n",
    );
    fitness.checks.drain(1..3);
    fitness.verdict = Severity::Fit;
    begins(
        &render(&fitness, Format::Table),
        "Fit for measuring: 2 of 2 checks passed.\n",
    );
}

#[test]
fn one_screen_has_what_is_not_as_it_should_be() {
    insta::assert_snapshot!(doctor::render(&usual(), Format::Table, Style::default()));
}

#[test]
fn json_is_the_check_up_itself() {
    let text = render(&usual(), Format::Json);
    crate::conformity::read(&text);
    assert_eq!(
        serde_json::from_str::<Fitness>(&text).expect("JSON"),
        usual()
    );
    assert!(text.ends_with("}\n"));
}

#[test]
fn csv_has_one_row_a_check() {
    let text = render(&usual(), Format::Csv);
    begins(
        &text,
        "name,severity,found,wanted,fix,lasting_fix\nclock,fit,\"tsc, invariant\",an invariant TSC,,\n",
    );
    assert_eq!(text.lines().count(), 5);
}

#[test]
fn hostile_text_is_stripped_and_colour_is_opt_in() {
    let hostile = fitness(
        r#"{"schema": "switchcost.doctor/1", "verdict": "unfit", "checks": [
            {"name": "a\u001b[2J", "severity": "unfit", "found": "b\nc", "wanted": "d\u009b", "fix": "e\u0007", "lasting_fix": "f\r\ng"}
        ]}"#,
    );
    let text = render(&hostile, Format::Table);
    is_harmless(&text);
    has(&text, "permanently  f  g\n");
    let style = Style {
        is_coloured: true,
        ..DETAILED
    };
    has(
        &doctor::render(&usual(), Format::Table, style),
        "\u{1b}[33mUsable with caveats",
    );
}
