use switchcost_analysis::observation::{Range, UnknownBecause, analyse};
use switchcost_record::observation::Observation;

use super::{Scraped, metrics, prometheus_text};
use crate::testing::{large, small};

fn scrape(observation: &Observation, scraped: &mut Scraped) -> String {
    metrics(observation, &analyse(observation), 1_796_000_000.5, scraped)
}

#[test]
fn the_older_text_format_declares_each_counter_by_the_name_of_its_samples() {
    let open_metrics = scrape(&small(), &mut Scraped::default());
    assert!(open_metrics.contains("\nswitchcost_snapshot_timestamp_seconds{} 1796000000.5\n"));
    let text = prometheus_text(&open_metrics);
    let samples = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(samples(&text), samples(&open_metrics));
    let comments: Vec<&str> = text.lines().filter(|line| line.starts_with('#')).collect();
    let is_declaration = |line: &&&str| line.starts_with("# HELP ") || line.starts_with("# TYPE ");
    assert_eq!(
        comments.iter().filter(is_declaration).count(),
        comments.len()
    );
    let counters = comments
        .iter()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.strip_suffix(" counter"));
    let mut count = 0;
    for name in counters {
        assert!(text.contains(&format!("# HELP {name} ")), "{name}");
        assert!(text.contains(&format!("\n{name}{{")), "{name}");
        count += 1;
    }
    assert!(count >= 3, "{text}");
}

#[test]
fn metrics_have_bounded_labels_and_end_as_the_format_asks() {
    let (large, mut earlier) = (large(), Scraped::default());
    let text = scrape(&large, &mut earlier);
    assert!(text.ends_with("# EOF\n"), "{text}");
    let labels = text
        .lines()
        .filter(|line| line.contains("type=\"voluntary\""))
        .count();
    assert_eq!(labels, 65, "64 names, and all others together");
    let sum: u64 = text
        .lines()
        .filter(|line| {
            line.starts_with("switchcost_context_switches_total") && line.contains("\"voluntary\"")
        })
        .filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok())
        .sum();
    assert_eq!(sum, 499 * 10_000);
    // The same names keep their labels, whichever comes first later.
    let mut later = large.clone();
    later.tasks.reverse();
    let of = |text: &str| {
        text.lines()
            .filter(|line| line.contains("voluntary"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let (mut before, mut after) = (of(&text), of(&scrape(&later, &mut earlier)));
    before.sort();
    after.sort();
    assert_eq!(before, after);
}

#[test]
fn no_counter_falls() {
    let (mut observation, mut earlier) = (small(), Scraped::default());
    let of = |text: &str| -> Vec<String> {
        let counters = text
            .lines()
            .filter(|line| line.starts_with("switchcost_context_switch_causes_total"));
        let mut counters: Vec<String> = counters.map(str::to_owned).collect();
        counters.sort();
        counters
    };
    let before = of(&scrape(&observation, &mut earlier));
    assert!(!before.is_empty());
    // Causes that made room for others: one has begun anew, one is not there any more.
    let causes = &mut observation.tasks[0].causes;
    causes[0].switches = 1;
    causes.pop().expect("there is one");
    assert_eq!(of(&scrape(&observation, &mut earlier)), before);
    // What continues is shown.
    observation.tasks[0].causes[0].switches = 1_000_000_007;
    assert!(scrape(&observation, &mut earlier).contains(" 1000000007\n"));
}

#[test]
fn switches_of_a_name_that_joins_a_pool_are_counted_once() {
    let (mut observation, mut earlier) = (small(), Scraped::default());
    let sum = |text: &str, metric: &str| -> f64 {
        let lines = text.lines().filter(|line| line.starts_with(metric));
        lines
            .filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
            .sum()
    };
    observation.tasks.truncate(1);
    (observation.tasks[0].name, observation.tasks[0].process_name) = ("worker1".to_owned(), None);
    let metrics = [
        "switchcost_context_switches_total{",
        "switchcost_cpu_seconds_total{",
    ];
    let text = scrape(&observation, &mut earlier);
    let before = metrics.map(|metric| sum(&text, metric));
    let mut other = observation.tasks[0].clone();
    (other.process, other.name) = (
        other.process.map(|process| process + 1),
        "worker2".to_owned(),
    );
    observation.tasks.push(other);
    let text = scrape(&observation, &mut earlier);
    assert!(text.contains("name=\"worker*\""), "{text}");
    assert_eq!(
        metrics.map(|metric| sum(&text, metric)),
        before.map(|all| 2.0 * all)
    );
    // CPU time that goes on under another name does not fall under the first one.
    observation.tasks[1].name = "other".to_owned();
    observation.tasks[0].name = "worker*".to_owned();
    let cpu = |text: &str| {
        let start = "switchcost_cpu_seconds_total{name=\"worker*\"} ";
        let value = text.lines().find_map(|line| line.strip_prefix(start));
        value.expect("it is there").to_owned()
    };
    assert_eq!(cpu(&scrape(&observation, &mut earlier)), cpu(&text));
}

#[test]
fn the_direct_cost_is_a_metric_of_its_own() {
    let observation = large();
    let direct = analyse(&observation)
        .all
        .direct_share
        .expect("it is priced");
    let text = scrape(&observation, &mut Scraped::default());
    let value = |metric: &str, bound: &str| -> f64 {
        let start = format!("switchcost_{metric}_ratios{{bound=\"{bound}\"}} ");
        let value = text.lines().find_map(|line| line.strip_prefix(&start));
        value.and_then(|value| value.parse().ok()).expect(&start)
    };
    let found = ["low", "high"].map(|bound| value("context_switch_direct_cost", bound));
    assert_eq!(found, [direct.low, direct.high]);
    assert!(found[1] < value("context_switch_cost", "high"), "{text}");
}

#[test]
fn cold_caches_are_a_metric_of_each_program() {
    let observation = small();
    let mut findings = analyse(&observation);
    let [known, unknown] = [0, 1].map(|at| findings.names[at].name.clone());
    findings.names[0].indirect_share = Some(Range {
        low: 0.25,
        likely: None,
        high: f64::INFINITY,
    });
    findings.names[1].indirect_unknown_because = Some(UnknownBecause::CheckFailed);
    let text = metrics(&observation, &findings, 1.5, &mut Scraped::default());
    let found: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("switchcost_context_switch_cold"))
        .collect();
    let metric = "switchcost_context_switch_cold_cache_cost";
    assert_eq!(
        found,
        [
            format!("{metric}_ratios{{name=\"{known}\",bound=\"low\"}} 0.25"),
            format!("{metric}_unknown{{name=\"{unknown}\",because=\"check-failed\"}} 1.0"),
        ]
    );
}

#[test]
fn metrics_take_any_name() {
    let mut hostile = small();
    hostile.tasks[0].name = "a\"} 1\n\\\u{1b}[31m".to_owned();
    let text = scrape(&hostile, &mut Scraped::default());
    assert!(text.contains(r#"name="a\"} 1 \\[31m""#), "{text}");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    assert!(
        lines.clone().all(|line| line.starts_with("switchcost_")),
        "{text}"
    );
}

#[test]
fn buckets_of_histograms_are_the_same_each_time() {
    let bounds = |text: &str| {
        text.lines()
            .filter(|line| line.contains("off_cpu_seconds_bucket"))
            .count()
    };
    let text = scrape(&small(), &mut Scraped::default());
    assert_eq!(bounds(&text), 13, "{text}");
    let nothing = Observation {
        tasks: Vec::new(),
        ..small()
    };
    assert_eq!(bounds(&scrape(&nothing, &mut Scraped::default())), 13);
    assert!(text.contains("le=\"+Inf\""), "{text}");
}

#[test]
fn the_dashboard_asks_for_nothing_that_is_not_served() {
    let dashboard = include_str!("../../../../docs/guide/grafana-dashboard.json");
    let dashboard: serde_json::Value = serde_json::from_str(dashboard).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let expressions = panels
        .iter()
        .flat_map(|panel| panel["targets"].as_array().expect("targets"));
    let served = scrape(&large(), &mut Scraped::default());
    let mut asked = 0;
    for expression in expressions.map(|target| target["expr"].as_str().expect("text")) {
        let at = expression.find("switchcost_").expect("a metric of ours");
        let end = |c: char| !c.is_ascii_alphanumeric() && c != '_';
        let metric = expression[at..].split(end).next().expect("a name");
        assert!(
            served
                .lines()
                .any(|line| line.starts_with(&format!("{metric}{{"))
                    || line.starts_with(&format!("{metric} "))),
            "{metric} in {served}"
        );
        asked += 1;
    }
    assert!(asked >= panels.len() && panels.len() >= 8);
}
