use switchcost_record::{Check, Fitness, Severity};
use switchcost_report::{Format, Style, doctor};

fn check(name: &str, severity: Severity, found: &str, wanted: &str, fix: [&str; 2]) -> Check {
    Check {
        name: name.to_owned(),
        found: found.to_owned(),
        wanted: wanted.to_owned(),
        severity,
        fix: fix[0].to_owned(),
        lasting_fix: fix[1].to_owned(),
    }
}

fn fitness(verdict: Severity, checks: Vec<Check>) -> Fitness {
    Fitness {
        schema: "switchcost.doctor/1".to_owned(),
        verdict,
        checks,
    }
}

fn usual() -> Fitness {
    let checks = vec![
        check(
            "clock",
            Severity::Fit,
            "tsc, invariant",
            "an invariant TSC",
            ["", ""],
        ),
        check(
            "real-time priority",
            Severity::Caveat,
            "no cap_sys_nice, and RLIMIT_RTPRIO is 0",
            "SCHED_FIFO allowed",
            [
                "sudo prlimit --rtprio=98 --pid $$",
                "echo '@users - rtprio 98' | sudo tee /etc/security/limits.d/rt.conf",
            ],
        ),
        check(
            "hypervisor",
            Severity::Caveat,
            "kvm: other guests may take the CPU at any time",
            "none",
            ["", ""],
        ),
        check(
            "huge pages",
            Severity::Fit,
            "madvise",
            "always or madvise",
            ["never shown", "never shown"],
        ),
    ];
    fitness(Severity::Caveat, checks)
}

fn render(fitness: &Fitness, format: Format) -> String {
    doctor::render(
        fitness,
        format,
        Style {
            is_detailed: true,
            ..Style::default()
        },
    )
}

#[test]
fn a_check_up() {
    insta::assert_snapshot!(render(&usual(), Format::Table));
}

#[test]
fn the_verdict_comes_first() {
    let first = |fitness: &Fitness| {
        render(fitness, Format::Table)
            .lines()
            .next()
            .map(str::to_owned)
            .unwrap_or_default()
    };
    let mut fitness = usual();
    assert_eq!(
        first(&fitness),
        "Usable with caveats: 2 of 4 checks found a possible disturbance."
    );
    fitness.verdict = Severity::Unfit;
    fitness.checks[2].severity = Severity::Unfit;
    assert_eq!(
        first(&fitness),
        "Not fit to measure: 1 of 4 checks failed, and 1 found a possible disturbance."
    );
    fitness.checks.drain(1..3);
    fitness.verdict = Severity::Fit;
    assert_eq!(first(&fitness), "Fit to measure: 2 of 2 checks passed.");
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
    let mut lines = text.lines();
    assert_eq!(
        lines.next(),
        Some("name,severity,found,wanted,fix,lasting_fix")
    );
    assert_eq!(
        lines.next(),
        Some("clock,fit,\"tsc, invariant\",an invariant TSC,,")
    );
    assert_eq!(lines.count(), 3);
}

#[test]
fn hostile_text_is_stripped_and_colour_is_opt_in() {
    let hostile = check(
        "a\u{1b}[2J",
        Severity::Unfit,
        "b\nc",
        "d\u{9b}",
        ["e\u{7}", "f\r\ng"],
    );
    let fitness = fitness(Severity::Unfit, vec![hostile]);
    let text = render(&fitness, Format::Table);
    assert!(
        text.chars().all(|c| !c.is_control() || c == '\n'),
        "{text:?}"
    );
    assert!(text.contains("permanently  f  g\n"), "{text}");
    let coloured = doctor::render(
        &usual(),
        Format::Table,
        Style {
            is_coloured: true,
            width: None,
            is_detailed: true,
        },
    );
    assert!(
        coloured.contains("\u{1b}[33mUsable with caveats"),
        "{coloured:?}"
    );
}
