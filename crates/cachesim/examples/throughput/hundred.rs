//! A hundred designs in one pass, and how much longer that takes than one of them alone.

use std::error::Error;

use record::{DESIGN_SCHEMA, Design, Level, Ways};
use switchcost_cachesim::read_design;
use units::Bytes;

use super::{Source, processor_seconds, simulate};

const ROUNDS: usize = 5;
const WAYS: [u32; 10] = [1, 2, 3, 4, 5, 6, 7, 8, 12, 16];
const LINE_BYTES: u64 = 64;

/// What is varied, and by which numbers of sets: 2 to the power of the first, and nine more.
struct Family {
    name: &'static str,
    behind: &'static str,
    levels: &'static [&'static str],
    set_bits: u32,
}

const FAMILIES: [Family; 4] = [
    Family { name: "sizes of L1D", behind: "", levels: &["L1D"], set_bits: 4 },
    Family { name: "sizes of L1I and L1D", behind: "", levels: &["L1I", "L1D"], set_bits: 4 },
    Family { name: "larger sizes of L1I and L1D", behind: "", levels: &["L1I", "L1D"], set_bits: 6 },
    Family { name: "sizes of L2", behind: L2, levels: &["L2"], set_bits: 7 },
];

const L1: &str = r#"
[[level]]
name = "L1I"
holds = "instructions"
size = "32KiB"
line = "64B"
ways = 8
miss_cycles = 10

[[level]]
name = "L1D"
holds = "data"
size = "32KiB"
line = "64B"
ways = 8
miss_cycles = 10
"#;

const L2: &str = r#"
[[level]]
name = "L2"
holds = "both"
size = "512KiB"
line = "64B"
ways = 8
miss_cycles = 100
"#;

pub(crate) fn measure(source: &Source) -> Result<(), Box<dyn Error>> {
    for family in &FAMILIES {
        let members = members(family)?;
        // 128 KiB: 512 sets of 4 ways, and the like.
        let one = &members[members.len() / 2 + 3..][..1];
        let mut ratios = Vec::new();
        let mut seconds = [0.0; 2];
        for _ in 0..ROUNDS {
            for (designs, seconds) in [one, &members[..]].into_iter().zip(&mut seconds) {
                let start = processor_seconds()?;
                simulate(designs, source)?;
                *seconds = processor_seconds()? - start;
            }
            ratios.push(seconds[1] / seconds[0]);
        }
        ratios.sort_by(f64::total_cmp);
        let (least, median, most) = (ratios[0], ratios[ROUNDS / 2], ratios[ROUNDS - 1]);
        println!(
            "{} ({} designs): {median:.2} times {} (median of {ROUNDS}; {least:.2} to {most:.2}); last {:.3} s and {:.3} s",
            family.name,
            members.len(),
            one[0].name,
            seconds[1],
            seconds[0]
        );
    }
    Ok(())
}

fn members(family: &Family) -> Result<Vec<Design>, Box<dyn Error>> {
    let text = format!("schema = \"{DESIGN_SCHEMA}\"\nname = \"base\"\n{L1}{}", family.behind);
    let base = read_design(&text, "hundred")?;
    let sizes = (0..10).flat_map(|bits| WAYS.map(|ways| (1_u64 << (family.set_bits + bits), ways)));
    let member = |(sets, ways): (u64, u32)| {
        let mut design = base.clone();
        design.name = format!("{sets} sets of {ways} ways");
        let is_varied = |level: &&mut Level| family.levels.contains(&level.name.as_str());
        for level in design.levels.iter_mut().filter(is_varied) {
            level.ways = Ways::Count(ways);
            level.size = Bytes(LINE_BYTES * sets * u64::from(ways));
        }
        design
    };
    Ok(sizes.map(member).collect())
}
