//! A memory-intensive tree search in Scheme, in two sizes: Tree and BigTree of the paper.

use rand::Rng;

use crate::set::{Inputs, PrepareError, Program, arguments, write};

pub(crate) const NEEDS: &[(&str, &str)] = &[("scm", "scm")];

pub(crate) const USES: &[&str] = &["/usr/lib/scm", "/usr/share/slib"];

/// A tree of 2^17 leaves: about 12 MB of pairs and interpreter, as in the paper.
pub(crate) const TREE_DEPTH: u32 = 17;
/// A tree of 2^20 leaves: about 65 MB, as in the paper.
pub(crate) const BIG_TREE_DEPTH: u32 = 20;

pub(crate) fn prepare(inputs: &mut Inputs<'_>, name: &'static str, depth: u32) -> Result<Program, PrepareError> {
    let folder = inputs.folder(&name.to_ascii_lowercase())?;
    let seed = inputs.random.random_range(1..100_000_u32);
    let definitions = format!("(define depth {depth})\n(define seed {seed})\n");
    write(&folder, "tree.scm", &(definitions + include_str!("../files/tree.scm")))?;
    Ok(Program { name, arguments: arguments(["scm", "-f", "tree.scm"]), folder })
}
