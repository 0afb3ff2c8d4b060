//! Lists the output paths of a command line.

use std::path::{Path, PathBuf};

use super::compare::VerdictFiles;
use super::trace::{TraceAction, TraceArguments};
use super::{Stacks, Verb};

/// An output path, with the option that names it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named<'a> {
    pub(crate) option: &'static str,
    pub(crate) path: &'a Path,
}

impl Verb {
    /// Returns all output paths of this subcommand's arguments.
    pub(crate) fn outputs(&self) -> Vec<Named<'_>> {
        match self {
            Verb::Measure(it) => named([
                ("--record", &it.record),
                ("--output", &it.form.output),
                ("--prices", &it.prices),
            ]),
            Verb::Runtimes(it) => named([("--record", &it.record), ("--output", &it.form.output)]),
            Verb::Observe(it) => [
                named([
                    ("--record", &it.record),
                    ("--output", &it.form.output),
                    ("--events", &it.events),
                ]),
                stack_outputs(&it.stacks),
            ]
            .concat(),
            Verb::Inject(it) => named([
                ("--record", &it.record),
                ("--output", &it.form.output),
                ("--keep-output", &it.keep_output),
            ]),
            Verb::Report(it) => {
                let places = [("--output", &it.form.output), ("--figures", &it.figures)];
                [named(places), stack_outputs(&it.stacks)].concat()
            }
            Verb::Compare(it) => {
                let places = [("--output", &it.form.output), ("--figures", &it.figures)];
                [named(places), verdict_outputs(&it.verdicts)].concat()
            }
            Verb::Ab(it) => [
                named([("--record", &it.record), ("--output", &it.form.output)]),
                verdict_outputs(&it.verdicts),
            ]
            .concat(),
            Verb::Simulate(it) => named([
                ("--record", &it.designs.record),
                ("--output", &it.designs.form.output),
            ]),
            Verb::Workload(it) => {
                let designs = &it.designs;
                named([
                    ("--trace", &it.trace),
                    ("--record", &designs.record),
                    ("--output", &designs.form.output),
                ])
            }
            Verb::Trace(it) => trace_outputs(it),
            Verb::Doctor(it) => named([("--output", &it.form.output)]),
            Verb::Reproduce(it) => named([("--output", &it.output)]),
            Verb::Completions(_) | Verb::Man(_) | Verb::Schema(_) => Vec::new(),
        }
    }
}

fn trace_outputs(arguments: &TraceArguments) -> Vec<Named<'_>> {
    let place = |path| {
        vec![Named {
            option: "--output",
            path,
        }]
    };
    match &arguments.action {
        None => named([
            ("--output", &arguments.output),
            ("--profile", &arguments.profile),
        ]),
        Some(TraceAction::Info(it) | TraceAction::Check(it)) => {
            named([("--output", &it.form.output)])
        }
        Some(TraceAction::Head(_)) => Vec::new(),
        Some(TraceAction::Profile(it)) => named([("--output", &it.output)]),
        Some(TraceAction::Export(it)) => named([("--output", &it.output)]),
        Some(TraceAction::Walks(it)) => place(&it.output),
        Some(TraceAction::Import(it)) => place(&it.output),
    }
}

fn stack_outputs(stacks: &Stacks) -> Vec<Named<'_>> {
    named([("--folded", &stacks.folded), ("--pprof", &stacks.pprof)])
}

fn verdict_outputs(files: &VerdictFiles) -> Vec<Named<'_>> {
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
            ("measure --record a -o b", "--record --output"),
            ("measure --prices a -o b", "--output --prices"),
            ("runtimes --record a -o b", "--record --output"),
            (
                "observe --record a -o b --events c --folded d --pprof e -p 1",
                "--record --output --events --folded --pprof",
            ),
            (
                "inject --record a -o b --keep-output c -- true",
                "--record --output --keep-output",
            ),
            (
                "report -o a --figures b --folded c --pprof d",
                "--output --figures --folded --pprof",
            ),
            (
                "compare a b -o c --junit d --markdown e",
                "--output --junit --markdown",
            ),
            (
                "ab --new true --record a -o b --junit c --markdown d",
                "--record --output --junit --markdown",
            ),
            ("simulate live --record a -o b -- true", "--record --output"),
            (
                "workload client-server --trace a --record b -o c",
                "--trace --record --output",
            ),
            ("trace --profile a -- true", "--profile"),
            ("trace import --from din a -o b", "--output"),
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
