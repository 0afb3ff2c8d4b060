//! How long the presets take, from the command to the prompt.

use crate::program::Program;
use crate::row::Row;

pub(crate) fn all(program: &Program) -> Vec<Row> {
    [("--quick", 8.0), ("", 30.0), ("--full", 180.0)]
        .map(|(flag, limit)| preset(program, flag, limit))
        .to_vec()
}

fn preset(program: &Program, flag: &str, limit: f64) -> Row {
    let mut arguments = vec!["measure"];
    arguments.extend((!flag.is_empty()).then_some(flag));
    let command = arguments.join(" ");
    let found = program.run(&arguments).map(|ran| {
        let seconds = ran.elapsed.as_secs_f64();
        let results = ran.json["results"]
            .as_array()
            .map_or(&[][..], Vec::as_slice);
        let measured = results
            .iter()
            .filter(|result| result["status"] != "not-measured")
            .count();
        let all = results.len();
        (
            format!("{seconds:.1} s ({measured} of {all} results measured)"),
            Some(seconds <= limit),
        )
    });
    Row::of(
        format!("duration of {command}"),
        format!("<= {limit} s"),
        command,
        found,
    )
}
