//! The simulator beside time: two tasks that walk as much, on the design `host`, and the same array that times itself.

use switchcost_record::profile::{Kind, Prices, Profile, Reused};
use switchcost_units::Bytes;

use super::{ran, text};
use crate::program::{Program, number};
use crate::row::Row;

/// Those that prices are of, up to the second level's size and above.
const SIZES: [Bytes; 5] = [
    Bytes::kib(48),
    Bytes::kib(192),
    Bytes::kib(384),
    Bytes::kib(768),
    Bytes::kib(1536),
];
const WALKS: [(Kind, &[&str]); 3] = [
    (Kind::Sequential, &["--stride", "64B"]),
    (Kind::Strided, &["--stride", "320B"]),
    (Kind::Dependent, &["--stride", "64B", "--pattern", "chase"]),
];

/// A reload of one array, in nanoseconds: simulated, as cycles and at prices, by the model from the walk's own trace, and as the array finds it.
struct Reloaded {
    simulated: f64,
    /// Its lost lines, at prices: low, likely and high.
    priced: [f64; 3],
    model: [f64; 3],
    found: f64,
}

impl Reloaded {
    /// Where the array has lost nothing, there is nothing to hold against.
    fn over_found(&self, ratio: impl Fn(f64) -> String) -> String {
        if self.found > 0.0 {
            ratio(self.found)
        } else {
            "nothing lost".to_owned()
        }
    }
}

pub(super) fn rows(program: &Program, prices: &Prices) -> Vec<Row> {
    let command = "trace walks --size S; simulate --design host; trace profile".to_owned();
    let what = "reload of an array by the simulator, no overlap, no prefetching, over what the array finds";
    let Some(hertz) = core_hertz() else {
        return vec![Row::failed(
            what,
            "reported as it is",
            "the core's clock is unknown".to_owned(),
            command,
        )];
    };
    let all: Result<Vec<(Kind, Reloaded)>, String> = WALKS
        .iter()
        .flat_map(|(kind, flags)| SIZES.iter().map(move |size| (*kind, *flags, *size)))
        .map(|(kind, flags, size)| {
            Ok((kind, reloaded(program, prices, (kind, flags, size), hertz)?))
        })
        .collect();
    match all {
        Err(why) => vec![Row::failed(what, "reported as it is", why, command)],
        Ok(all) => WALKS
            .iter()
            .flat_map(|(kind, _)| rows_of(*kind, &all, &command))
            .collect(),
    }
}

fn rows_of(kind: Kind, all: &[(Kind, Reloaded)], command: &str) -> [Row; 3] {
    let of = || {
        all.iter()
            .filter(|(own, _)| *own == kind)
            .map(|(_, reloaded)| reloaded)
    };
    let row = |what: String, measured: String, is_met| Row {
        what,
        must_reach: "reported as it is".to_owned(),
        measured,
        is_met,
        command: command.to_owned(),
    };
    let list = |ratio: &dyn Fn(&Reloaded) -> String| of().map(ratio).collect::<Vec<_>>().join(", ");
    let sizes = SIZES.map(|size| size.to_string()).join(", ");
    let three = |[low, likely, high]: [f64; 3]| format!("{likely:.2} [{low:.2} {high:.2}]");
    [
        row(
            format!("reload by the simulator over found, {kind}, {sizes}"),
            list(&|one| one.over_found(|found| format!("{:.1}", one.simulated / found))),
            None,
        ),
        row(
            format!("the same by the model, from the walk's trace and prices, {kind}"),
            list(&|one| one.over_found(|found| three(one.model.map(|ns| ns / found)))),
            None,
        ),
        row(
            format!("the same of the lines lost in the simulator, at prices, {kind}"),
            list(&|one| one.over_found(|found| three(one.priced.map(|ns| ns / found)))),
            None,
        ),
    ]
}

fn reloaded(
    program: &Program,
    prices: &Prices,
    (kind, flags, size): (Kind, &[&str], Bytes),
    hertz: f64,
) -> Result<Reloaded, String> {
    let name = format!("{kind}-{}", size.0);
    let walks = |tasks: &str| -> Result<String, String> {
        let path = text(&program.path(&format!("{name}-{tasks}.sct")));
        let size = format!("{}B", size.0);
        let own = [
            "trace", "walks", "--size", &size, "--access", "read", "--tasks", tasks, "--turns",
            "40", "-o", &path,
        ];
        ran(program.command(&[&own[..], flags].concat()))?;
        Ok(path)
    };
    let two = walks("2")?;
    let at = text(&program.path("prices.json"));
    let simulated = program
        .run(&["simulate", &two, "--design", "host", "--prices", &at])?
        .json;
    let priced = ["low_ns", "likely_ns", "high_ns"].map(|field| {
        number(&simulated, &format!("designs.0.time_lost.{field}")).unwrap_or(f64::NAN)
    });
    let cycles = number(&simulated, "designs.0.excess_cycles_per_switch")
        .ok_or("simulate tells no excess")?;
    let (one, profile) = (walks("1")?, text(&program.path(&format!("{name}.json"))));
    ran(program.command(&["trace", "profile", &one, "-o", &profile]))?;
    let profile = switchcost_record::profile::read_profile(std::path::Path::new(&profile))
        .map_err(|error| error.to_string())?;
    let model = switchcost_analysis::model::reload(&profile, prices, size, f64::MAX);
    let found = switchcost_analysis::model::reload(&array(kind, size), prices, size, f64::MAX);
    let model = [model.low_ns, model.likely_ns, model.high_ns];
    Ok(Reloaded {
        simulated: cycles / hertz * 1e9,
        priced,
        model,
        found: found.likely_ns,
    })
}

/// An array as its prices are of: all of its lines, of one kind and age.
fn array(kind: Kind, size: Bytes) -> Profile {
    let lines = (size.0 / 64) as f64;
    // A class of ages ends where its middle is the size.
    let reused = vec![Reused {
        kind,
        age_bytes: Bytes(size.0 * 4 / 3),
        lines: vec![lines],
    }];
    Profile {
        reused,
        ..Profile::empty(1, vec![1])
    }
}

/// As the core's chain of multiplications tells it; of processors whose multiplication takes other than 3 cycles nothing is known.
fn core_hertz() -> Option<f64> {
    let (clock, _) = switchcost_host::clock::Clock::choose_for(&[], true);
    let facts = switchcost_host::core_clock::facts(clock);
    let calibration = switchcost_host::clock::Calibration::start(clock);
    std::thread::sleep(std::time::Duration::from_millis(60));
    let ticks: Vec<u64> = (0..2_001)
        .map(|_| switchcost_host::core_clock::probe(clock).chain.0)
        .collect();
    let mut sorted = ticks;
    sorted.sort_unstable();
    let chain = sorted[sorted.len() / 2]
        .saturating_sub(facts.overhead_ticks.0)
        .max(1) as f64;
    Some(facts.chain_cycles()? * calibration.rate().0 as f64 / chain)
}
