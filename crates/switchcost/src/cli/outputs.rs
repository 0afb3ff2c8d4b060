//! Lists the output paths of a command line.

use std::path::PathBuf;

use clap::ArgMatches;

/// Options that name an output, in the order in which an error names them.
const OUTPUTS: [&str; 11] = [
    "--trace",
    "--record",
    "--output",
    "--prices",
    "--events",
    "--keep-output",
    "--figures",
    "--folded",
    "--pprof",
    "--junit",
    "--markdown",
];

/// Arguments with such a name that name an input instead.
const INPUTS: [(&str, &str); 3] = [
    ("report", "--record"),
    ("simulate", "--prices"),
    ("workload", "--prices"),
];

/// An output path, with the option that names it.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    pub(crate) option: &'static str,
    pub(crate) path: PathBuf,
}

/// Returns all output paths of a parsed command line.
pub(crate) fn named_outputs(matches: &ArgMatches) -> Vec<Named> {
    let Some((verb, mut innermost)) = matches.subcommand() else {
        return Vec::new();
    };
    while let Some((_, action)) = innermost.subcommand() {
        innermost = action;
    }
    let is_output = |option: &&'static str| !INPUTS.contains(&(verb, *option));
    let named = |option: &'static str| {
        let id = option[2..].replace('-', "_");
        let path = innermost.try_get_one::<PathBuf>(&id).ok()??.clone();
        Some(Named { option, path })
    };
    let options = OUTPUTS.into_iter().filter(is_output);
    options.filter_map(named).collect()
}

#[cfg(test)]
mod tests {
    use super::named_outputs;
    use crate::cli::Cli;

    #[test]
    fn each_option_that_names_an_output_is_in_the_list() {
        for (words, options) in [
            ("measure --record a -o b", "--record --output"),
            ("measure --prices a", "--prices"),
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
            ("trace -o a -- true", "--output"),
            ("trace import --from din a -o b", "--output"),
            ("trace walks --size 4KiB -o a", "--output"),
            ("report a b -o c", "--output"),
            ("simulate a --prices b -o c", "--output"),
            ("doctor -o a", "--output"),
            ("reproduce li2007 -o a", "--output"),
        ] {
            let words = format!("switchcost {words}");
            let parsed = Cli::parse_words(words.split(' ').map(Into::into).collect());
            let (_, matches) = parsed.unwrap_or_else(|mistake| panic!("{words}: {mistake}"));
            let found: Vec<_> = named_outputs(&matches)
                .iter()
                .map(|named| named.option)
                .collect();
            assert_eq!(found.join(" "), options, "{words}");
        }
    }
}
