//! How long the presets take, from the command to the prompt.

use crate::program::Program;
use crate::row::Row;

pub(crate) fn all(program: &Program) -> Vec<Row> {
    [("--quick", 8.0), ("", 30.0), ("--full", 180.0)].map(|(flag, limit)| preset(program, flag, limit)).to_vec()
}

fn preset(program: &Program, flag: &str, limit: f64) -> Row {
    let mut arguments = vec!["measure"];
    arguments.extend((!flag.is_empty()).then_some(flag));
    let command = arguments.join(" ");
    let (what, must_reach) = (format!("duration of {command}"), format!("<= {limit} s"));
    match program.run(&arguments) {
        Err(why) => Row::failed(&what, &must_reach, why, command),
        Ok(ran) => {
            let seconds = ran.elapsed.as_secs_f64();
            let results = ran.json["results"].as_array().map_or(0, Vec::len);
            let measured = ran.json["results"]
                .as_array()
                .map_or(0, |results| results.iter().filter(|result| result["status"] != "not-measured").count());
            Row {
                what,
                must_reach,
                measured: format!("{seconds:.1} s ({measured} of {results} results measured)"),
                is_met: Some(seconds <= limit),
                command,
            }
        }
    }
}
