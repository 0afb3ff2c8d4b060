//! Compares the model of a switch with measurements of ten existing programs.
//!
//! The following rule was written before the first run. For each program, the cost of cold caches
//! by the model is compared with the result of `inject`, at each of three footprints. A footprint
//! is right if the model's likely value is within 25 % of the result, or within its interval. A
//! program is right if all three footprints are right. The miss costs are measured only with arrays
//! and a loop.
//!
//! Faults of earlier models were found with six other programs, which are not judged: bzip2, mawk,
//! tclsh, bc, objdump and troff. Of these, 4 programs and 13 of 18 footprints are right. One rule
//! was made when the results of the ten programs were known: miss costs not distinguishable from 0
//! are 0 (the cost was -12 ns for an array of 3 MiB). An earlier model was right for 4 of 10
//! programs with intervals of `inject` twice as wide, and with the present intervals for 2 of 10
//! programs and 17 footprints.
//!
//! Models that did not know which loads wait for each other were judged on another machine. With
//! chains of loads, and bc, gawk and git in addition, 1 of 12 programs is right: most predictions
//! are too low (docs/method/model.md).

use serde_json::Value;
use switchcost_record::profile::{Prices, read_prices, read_profile};
use switchcost_units::Bytes;

use crate::progress::Progress;
use crate::row::Row;
use crate::shell::{Shell, interval, need};

const FOOTPRINTS: [Bytes; 3] = [Bytes::kib(256), Bytes::mib(1), Bytes::mib(4)];
const WITHIN: f64 = 0.25;
const MUST_BE_RIGHT: usize = 7;
const PERIOD_NS: f64 = 250e3;

/// Command lines of ten existing programs. Each does about 100 ms of work, which is the same in
/// every run.
const PROGRAMS: [(&str, &str); 10] = [
    ("xz", "xz -1 -T1 -c short"),
    ("gzip", "gzip -c text"),
    ("zstd", "zstd -q -9 --single-thread -c text"),
    (
        "sqlite3",
        "sqlite3 :memory: \"CREATE TABLE t(a INTEGER PRIMARY KEY, b INTEGER, c TEXT); WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL \
         SELECT x+1 FROM n WHERE x<30000) INSERT INTO t SELECT x, (x*7919)%30011, 'name'||((x*31)%977) FROM n; CREATE INDEX i ON \
         t(b); SELECT c, count(*), sum(b) FROM t GROUP BY c ORDER BY 3; SELECT sum(u.b) FROM t JOIN t u ON u.b=t.a;\"",
    ),
    (
        "cc1",
        "$(gcc -print-prog-name=cc1) -quiet -O2 -o /dev/null functions.c",
    ),
    (
        "python",
        "/usr/bin/python3 -S -c 'import sys\nn={}\nfor l in open(sys.argv[1]):\n for w in l.split():\n  n[w]=n.get(w,0)+1\n\
         print(sorted(n.items(),key=lambda x:-x[1])[:9])' text",
    ),
    ("sort", "sort --parallel=1 text"),
    ("openssl", "openssl dgst -sha3-512 text text text"),
    (
        "jq",
        "jq -c 'group_by(.kind)|map({k:.[0].kind,n:length,s:(map(.size)|add)})' records.json",
    ),
    (
        "perl",
        "perl -ne 'for(split){$n{$_}++} END{print join(\" \",map{$_.$n{$_}}sort{$n{$b}<=>$n{$a}}keys%n)}' text",
    ),
];

/// Measures all programs, or only the programs in `named` if there are any.
pub(crate) fn measure(shell: &Shell, named: &[String]) -> Vec<Row> {
    let prices = match prices(shell) {
        Ok(prices) => prices,
        Err(why) => {
            let must_reach = format!(">= {MUST_BE_RIGHT} of 10");
            return vec![Row::new(
                "the model of a switch",
                must_reach,
                "measure --prices FILE",
                Err(why),
            )];
        }
    };
    let is_wanted = |name: &str| named.is_empty() || named.iter().any(|wanted| wanted == name);
    let programs: Vec<_> = PROGRAMS
        .iter()
        .filter(|(name, _)| is_wanted(name))
        .collect();
    let mut progress = Progress::new("programs", programs.len());
    let mut rows = Vec::new();
    for (name, words) in programs {
        let row = judge(shell, &prices, name, words);
        progress.advance_with(&format!("{name}: {}", row.measured));
        rows.push(row);
    }
    if named.is_empty() {
        let right = rows.iter().filter(|row| row.is_met == Some(true)).count();
        rows.push(Row::new(
            "programs for which the model is right at each of three footprints",
            format!(">= {MUST_BE_RIGHT} of 10"),
            "trace --profile, measure --prices, inject",
            Ok((
                format!("{right} of {}", rows.len()),
                Some(right >= MUST_BE_RIGHT),
            )),
        ));
    }
    rows
}

fn prices(shell: &Shell) -> Result<Prices, String> {
    shell.run(include_str!("model-inputs.sh"))?;
    make(
        shell,
        "prices.json",
        "switchcost measure --budget 240s --prices prices.json",
    )?;
    read_prices(&shell.path("prices.json")).map_err(|error| error.to_string())
}

/// Runs a command that makes a file, unless the file exists.
fn make(shell: &Shell, name: &str, command: &str) -> Result<(), String> {
    if shell.path(name).exists() {
        return Ok(());
    }
    shell.run(command).map(drop)
}

/// Result for one footprint, in microseconds: low, likely and high value by the model, and low end,
/// centre and high end by `inject`.
struct Compared {
    footprint: Bytes,
    model_us: [f64; 3],
    found_us: [f64; 3],
}

impl Compared {
    fn is_right(&self) -> bool {
        let ([low, found, high], likely) = (self.found_us, self.model_us[1]);
        (low..=high).contains(&likely) || (likely / found - 1.0).abs() <= WITHIN
    }

    fn text(&self) -> String {
        let ([low, likely, high], [from, found, to]) = (self.model_us, self.found_us);
        let right = if self.is_right() { "" } else { " (miss)" };
        format!(
            "{}: {likely:.1} [{low:.1} {high:.1}], found {found:.1} [{from:.1} {to:.1}] us{right}",
            self.footprint
        )
    }
}

fn judge(shell: &Shell, prices: &Prices, name: &str, words: &str) -> Row {
    let found = compare(shell, prices, name, words).map(|all| {
        let texts: Vec<String> = all.iter().map(Compared::text).collect();
        (texts.join("; "), Some(all.iter().all(Compared::is_right)))
    });
    let command: String = words.chars().take(60).collect();
    Row::new(
        format!("cold caches of {name}: by the model, and found"),
        "within 25 % or the interval",
        command,
        found,
    )
}

fn compare(
    shell: &Shell,
    prices: &Prices,
    name: &str,
    words: &str,
) -> Result<Vec<Compared>, String> {
    let [profile, injection] = ["profile", "injection"].map(|kind| format!("{name}.{kind}.json"));
    let trace = format!("switchcost trace --profile {profile} -- {words}");
    make(shell, &profile, &trace)?;
    let inject = format!(
        "switchcost inject --format json --output {injection} --budget 40s --footprint 0,256KiB,1MiB,4MiB -- {words}"
    );
    make(shell, &injection, &inject)?;
    let profile = read_profile(&shell.path(&profile)).map_err(|error| error.to_string())?;
    let json = std::fs::read(shell.path(&injection)).map_err(|error| error.to_string())?;
    let json: Value = serde_json::from_slice(&json).map_err(|error| error.to_string())?;
    let instructions = profile.instructions as f64 / need(&json, "cpu_ns")? * PERIOD_NS;
    let mut compared = Vec::new();
    for (index, footprint) in FOOTPRINTS.into_iter().enumerate() {
        let path = format!("footprints.{}.reload_ns", index + 1);
        let found = interval(&json, &path, "estimate")?;
        let model = switchcost_analysis::model::reload(&profile, prices, footprint, instructions);
        compared.push(Compared {
            footprint,
            model_us: model.with_switch_path().map(|ns| ns / 1e3),
            found_us: found.map(|ns| ns / 1e3),
        });
    }
    Ok(compared)
}
