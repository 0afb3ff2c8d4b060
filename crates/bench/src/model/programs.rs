//! Ten programs of others, each with some 100 ms of work that is the same each time.

use std::fmt::Write;
use std::fs;
use std::process::Command;

use crate::input;
use crate::program::Program;

pub(super) struct Subject {
    pub(super) name: &'static str,
    pub(super) words: Vec<String>,
}

const TEXT_BYTES: usize = 4_000_000;
const SHORT_BYTES: usize = 600_000;
const RECORDS: usize = 20_000;
const FUNCTIONS: usize = 60;

const SQL: &str = "CREATE TABLE t(a INTEGER PRIMARY KEY, b INTEGER, c TEXT); WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM n \
                   WHERE x<30000) INSERT INTO t SELECT x, (x*7919)%30011, 'name'||((x*31)%977) FROM n; CREATE INDEX i ON t(b); SELECT \
                   c, count(*), sum(b) FROM t GROUP BY c ORDER BY 3; SELECT sum(u.b) FROM t JOIN t u ON u.b=t.a;";
const PYTHON: &str = "import sys\nn={}\nfor l in open(sys.argv[1]):\n for w in l.split():\n  n[w]=n.get(w,0)+1\nprint(sorted(n.items(),\
                      key=lambda x:-x[1])[:9])";
const PERL: &str =
    "for(split){$n{$_}++} END{print join(\" \",map{$_.$n{$_}}sort{$n{$b}<=>$n{$a}}keys%n)}";

pub(super) fn subjects(program: &Program) -> Result<Vec<Subject>, String> {
    let written = |name: &str, bytes| {
        let path = program.path(name);
        input::write_text(&path, bytes)
            .map(|()| path.display().to_string())
            .map_err(|error| error.to_string())
    };
    let (text, short) = (written("text", TEXT_BYTES)?, written("short", SHORT_BYTES)?);
    let made = |name: &str, content: String| {
        let path = program.path(name);
        fs::write(&path, content)
            .map(|()| path.display().to_string())
            .map_err(|error| error.to_string())
    };
    let (json, source) = (
        made("records.json", records())?,
        made("functions.c", functions())?,
    );
    let cc1 = compiler()?;
    let subject = |name, words: &[&str]| Subject {
        name,
        words: words.iter().map(|word| (*word).to_owned()).collect(),
    };
    Ok(vec![
        subject("xz", &["xz", "-1", "-T1", "-c", &short]),
        subject("gzip", &["gzip", "-c", &text]),
        subject(
            "zstd",
            &["zstd", "-q", "-9", "--single-thread", "-c", &text],
        ),
        subject("sqlite3", &["sqlite3", ":memory:", SQL]),
        subject("cc1", &[&cc1, "-quiet", "-O2", "-o", "/dev/null", &source]),
        subject("python", &["/usr/bin/python3", "-S", "-c", PYTHON, &text]),
        subject("sort", &["sort", "--parallel=1", &text]),
        subject(
            "openssl",
            &["openssl", "dgst", "-sha3-512", &text, &text, &text],
        ),
        subject(
            "jq",
            &[
                "jq",
                "-c",
                "group_by(.kind)|map({k:.[0].kind,n:length,s:(map(.size)|add)})",
                &json,
            ],
        ),
        subject("perl", &["perl", "-ne", PERL, &text]),
    ])
}

/// Where the compiler proper is.
fn compiler() -> Result<String, String> {
    let output = Command::new("gcc")
        .arg("-print-prog-name=cc1")
        .output()
        .map_err(|error| format!("gcc: {error}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn records() -> String {
    let of = |number: usize| {
        format!(
            "{{\"id\":{number},\"kind\":\"k{}\",\"size\":{}}}",
            number * 31 % 211,
            number * 7919 % 30_011
        )
    };
    format!("[{}]", (0..RECORDS).map(of).collect::<Vec<_>>().join(","))
}

fn functions() -> String {
    (0..FUNCTIONS).fold(String::new(), |mut source, number| {
        let (a, b) = (number % 13 + 2, number % 7 + 3);
        writeln!(
            source,
            "int f{number}(int n, int *p) {{ int s = {a}; for (int i = 0; i < n; i++) {{ if (p[i] % {b}) s += p[i] * {a}; else \
             s ^= p[n - i - 1] << {b}; switch (s & 7) {{ case 1: s -= i; break; case 3: s *= {b}; break; case 5: p[i] = s; }} }} \
             return s; }}"
        )
        .expect("memory");
        source
    })
}
