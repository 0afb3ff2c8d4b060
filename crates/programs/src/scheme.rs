//! A memory-intensive tree search in Scheme, in two sizes: the programs Tree and BigTree of Mogul
//! and Borg 1990.

use std::ops::RangeInclusive;

use rand::Rng;

use crate::program::{Inputs, PrepareError, Program, arguments, write};

pub(crate) const NEEDS: &[(&str, &str)] = &[("scm", "scm")];

pub(crate) const USES: &[&str] = &["/usr/lib/scm", "/usr/share/slib"];

/// Range of depths for trees with 2^16 to 2^18 leaves. The pairs and the interpreter take 6 to 24
/// MB (12 MB in Mogul and Borg 1990).
pub(crate) const TREE_DEPTHS: RangeInclusive<u32> = 16..=18;
/// Range of depths for trees with 2^19 to 2^20 leaves, which take 33 to 65 MB (65 MB in Mogul and
/// Borg 1990).
pub(crate) const BIG_TREE_DEPTHS: RangeInclusive<u32> = 19..=20;

pub(crate) fn prepare(
    inputs: &mut Inputs<'_>,
    name: &'static str,
    depths: RangeInclusive<u32>,
) -> Result<Program, PrepareError> {
    let folder = inputs.folder(&name.to_ascii_lowercase())?;
    let (depth, seed) = (
        inputs.random.random_range(depths),
        inputs.random.random_range(1..100_000_u32),
    );
    let definitions = format!("(define depth {depth})\n(define seed {seed})\n");
    write(
        &folder,
        "tree.scm",
        &(definitions + include_str!("../files/tree.scm")),
    )?;
    Ok(Program {
        name,
        arguments: arguments(["scm", "-f", "tree.scm"]),
        folder,
    })
}
