//! How long a browser takes to open a large page.

use std::fs;
use std::path::Path;

use serde_json::Value;
use switchcost_host::browser::{Browser, NAMES};
use switchcost_record::{Cycles, Line, MeasureRecord, Readers, SealedLog};

use crate::row::Row;
use crate::shell::{Shell, need};
use crate::spread::Spread;

const ROUNDS: usize = 5;
const SAMPLES: usize = 100_000;
const MOST_MS: f64 = 2000.0;

/// Says when the first screen and, scrolled to, the figure of the samples were drawn. The frame keeps the browser from writing the
/// page down before that.
const STOPWATCH: &str = r#"<script>(async () => {
  const hold = document.createElement("iframe");
  document.documentElement.append(hold);
  hold.contentDocument.open();
  const drawn = (gd) => gd._fullLayout && gd.querySelector(".modebar-btn");
  const until = async (look) => { while (!look()) await new Promise((done) => requestAnimationFrame(done)); };
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
  const all = [...document.querySelectorAll(".drawing")];
  await until(() => all.some(drawn));
  await frame();
  const opened = performance.now();
  const samples = all.find((gd) => gd.id.endsWith("-samples"));
  samples.scrollIntoView();
  await until(() => drawn(samples));
  await frame();
  const reported = document.createElement("pre");
  reported.id = "stopwatch";
  const points = samples.data.reduce((sum, trace) => sum + trace.x.length, 0);
  reported.textContent = JSON.stringify({ opened, scrolled: performance.now() - opened, points });
  document.body.replaceChildren(reported);
  hold.contentDocument.close();
})();</script></body>"#;

/// The page of a record that has so many samples, made of `full.jsonl`.
pub(crate) fn measure(shell: &Shell) -> Row {
    let found = rounds(shell).map(|(opened, scrolled)| {
        let is_met = opened.median < MOST_MS && scrolled.median < MOST_MS;
        let measured = format!("{opened} ms, then {scrolled} ms; {ROUNDS} rounds");
        (measured, Some(is_met))
    });
    Row::new(
        "opening the page of 100,000 samples in headless Chromium",
        "first screen < 2 s, the samples scrolled to < 2 s",
        "report SAMPLES.jsonl -o FILE; chromium --headless FILE",
        found,
    )
}

fn rounds(shell: &Shell) -> Result<(Spread, Spread), String> {
    repeat(&shell.path("full.jsonl"), &shell.path("samples.jsonl"))?;
    shell.run("switchcost report samples.jsonl -o samples.html")?;
    let page = shell.path("samples.html");
    let html = fs::read_to_string(&page).map_err(|error| error.to_string())?;
    let (before, after) = html
        .rsplit_once("</body>")
        .ok_or("found a page without an end")?;
    fs::write(&page, [before, STOPWATCH, after].concat()).map_err(|error| error.to_string())?;
    let (mut opened, mut scrolled) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let [first, second] = open(&page)?;
        opened.push(first);
        scrolled.push(second);
    }
    let spreads = Spread::new(&opened).zip(Spread::new(&scrolled));
    spreads.ok_or_else(|| "no round".to_owned())
}

/// The same record with the first cycle of each window over again, as later repetitions, until there are enough points: one for
/// each arm of each window.
fn repeat(full: &Path, into: &Path) -> Result<(), String> {
    let record = MeasureRecord::read(full).map_err(|error| error.to_string())?;
    let windows: Vec<Cycles> = record.cycles.iter().map(first_cycle).collect();
    if windows.is_empty() {
        return Err("found no cycles in the record".to_owned());
    }
    let mut writer = SealedLog::<Line>::create(Readers::AsUsual, into, record.header)
        .map_err(|error| error.to_string())?;
    let mut points = 0;
    for (index, window) in windows.iter().cycle().enumerate() {
        if points >= SAMPLES {
            break;
        }
        let mut window = window.clone();
        window.repetition += 10_000 * (index / windows.len()) as u32;
        // Two arms in each batch of three.
        points += window.batches_per_cycle as usize / 3 * 2;
        writer
            .append(&Line::Cycles(Box::new(window)))
            .map_err(|error| error.to_string())?;
    }
    record
        .end
        .into_iter()
        .try_for_each(|end| writer.append(&Line::End(end)))
        .map_err(|error| error.to_string())
}

fn first_cycle(window: &Cycles) -> Cycles {
    let mut first = window.clone();
    let (length, columns) = (window.batches_per_cycle as usize, &mut first.batches);
    columns.arm.truncate(length);
    columns.handoffs.truncate(length);
    columns.handoff_ticks.truncate(length);
    columns.walk_ticks.truncate(length);
    columns.chain_ticks.truncate(length + 1);
    columns.addition_ticks.truncate(length + 1);
    columns.counted_cycles.truncate(length);
    columns.counted_ticks.truncate(length);
    first
}

fn open(page: &Path) -> Result<[f64; 2], String> {
    let browser = Browser::find()
        .ok_or_else(|| format!("found no Chromium in PATH ({})", NAMES.join(", ")))?;
    let own = tempfile::tempdir().map_err(|error| error.to_string())?;
    let opened = browser.open(page, &["--window-size=1200,900", "--dump-dom"], own.path());
    let dom = opened
        .map_err(|error| format!("{}: {error}", browser.path().display()))?
        .elements;
    let reported = dom
        .split_once("<pre id=\"stopwatch\">")
        .and_then(|(_, rest)| rest.split_once("</pre>"));
    let reported: Value = reported
        .and_then(|(reported, _)| serde_json::from_str(reported).ok())
        .ok_or("the page reported nothing")?;
    let points = need(&reported, "points")?;
    if points < SAMPLES as f64 * 0.8 {
        return Err(format!("{points} points are drawn of some {SAMPLES}."));
    }
    Ok([need(&reported, "opened")?, need(&reported, "scrolled")?])
}
