//! Every place that a command line names to be written to.

use std::path::{Path, PathBuf};

use super::compare::VerdictFiles;
use super::trace::{TraceAction, TraceArguments};
use super::{Stacks, Verb};

/// A place, and the option that names it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named<'a> {
    pub(crate) option: &'static str,
    pub(crate) path: &'a Path,
}

impl Verb {
    /// All places that this command line names for outputs.
    pub(crate) fn outputs(&self) -> Vec<Named<'_>> {
        match self {
            Verb::Measure(it) => named([
                ("--record", &it.record),
                ("--out", &it.form.out),
                ("--prices", &it.prices),
            ]),
            Verb::Runtimes(it) => named([("--record", &it.record), ("--out", &it.form.out)]),
            Verb::Observe(it) => [
                named([
                    ("--record", &it.record),
                    ("--out", &it.form.out),
                    ("--events", &it.events),
                ]),
                of_stacks(&it.stacks),
            ]
            .concat(),
            Verb::Inject(it) => named([
                ("--record", &it.record),
                ("--out", &it.form.out),
                ("--keep-output", &it.keep_output),
            ]),
            Verb::Report(it) => {
                let places = [
                    ("-o", &it.output),
                    ("--out", &it.form.out),
                    ("--figures", &it.figures),
                ];
                [named(places), of_stacks(&it.stacks)].concat()
            }
            Verb::Compare(it) => {
                let places = [
                    ("-o", &it.output),
                    ("--out", &it.form.out),
                    ("--figures", &it.figures),
                ];
                [named(places), of_verdicts(&it.verdicts)].concat()
            }
            Verb::Ab(it) => [
                named([("--record", &it.record), ("--out", &it.form.out)]),
                of_verdicts(&it.verdicts),
            ]
            .concat(),
            Verb::Simulate(it) => named([
                ("--record", &it.designs.record),
                ("--out", &it.designs.form.out),
            ]),
            Verb::Workload(it) => {
                let designs = &it.designs;
                named([
                    ("-o", &it.output),
                    ("--record", &designs.record),
                    ("--out", &designs.form.out),
                ])
            }
            Verb::Trace(it) => of_trace(it),
            Verb::Doctor(it) => named([("--out", &it.form.out)]),
            Verb::Reproduce(it) => named([("-o", &it.output)]),
            Verb::Completions(_) | Verb::Man(_) | Verb::Schema(_) => Vec::new(),
        }
    }
}

fn of_trace(arguments: &TraceArguments) -> Vec<Named<'_>> {
    let place = |path| vec![Named { option: "-o", path }];
    match &arguments.action {
        None => named([("-o", &arguments.output), ("--profile", &arguments.profile)]),
        Some(TraceAction::Info(it) | TraceAction::Check(it)) => named([("--out", &it.form.out)]),
        Some(TraceAction::Head(_)) => Vec::new(),
        Some(TraceAction::Profile(it)) => named([("-o", &it.output)]),
        Some(TraceAction::Export(it)) => named([("-o", &it.output)]),
        Some(TraceAction::Walks(it)) => place(&it.output),
        Some(TraceAction::Import(it)) => place(&it.output),
    }
}

fn of_stacks(stacks: &Stacks) -> Vec<Named<'_>> {
    named([("--folded", &stacks.folded), ("--pprof", &stacks.pprof)])
}

fn of_verdicts(files: &VerdictFiles) -> Vec<Named<'_>> {
    named([("--junit", &files.junit), ("--markdown", &files.markdown)])
}

fn named<'a, const N: usize>(places: [(&'static str, &'a Option<PathBuf>); N]) -> Vec<Named<'a>> {
    places
        .into_iter()
        .filter_map(|(option, path)| {
            Some(Named {
                option,
                path: path.as_deref()?,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use crate::cli::Cli;

    #[test]
    fn each_option_that_names_an_output_is_in_the_list() {
        for (words, options) in [
            ("measure --record a --out b", "--record --out"),
            ("measure --prices a --out b", "--out --prices"),
            ("runtimes --record a --out b", "--record --out"),
            (
                "observe --record a --out b --events c --folded d --pprof e -p 1",
                "--record --out --events --folded --pprof",
            ),
            (
                "inject --record a --out b --keep-output c -- true",
                "--record --out --keep-output",
            ),
            (
                "report -o a --figures b --folded c --pprof d",
                "-o --figures --folded --pprof",
            ),
            (
                "compare a b --out c --junit d --markdown e",
                "--out --junit --markdown",
            ),
            (
                "ab --new true --record a --out b --junit c --markdown d",
                "--record --out --junit --markdown",
            ),
            ("simulate live --record a --out b -- true", "--record --out"),
            (
                "workload client-server -o a --record b --out c",
                "-o --record --out",
            ),
            ("trace --profile a -- true", "--profile"),
            ("trace import --from din a -o b", "-o"),
        ] {
            let cli = Cli::try_parse_from(format!("switchcost {words}").split(' '));
            let verb = cli
                .unwrap_or_else(|mistake| panic!("{words}: {mistake}"))
                .verb;
            let found: Vec<_> = verb.outputs().iter().map(|named| named.option).collect();
            assert_eq!(found.join(" "), options, "{words}");
        }
    }
}
