//! Names the functions in sampled stacks, from the files that the processes ran, if these files
//! still exist.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use switchcost_record::observation::{Module, SampledStacks};
use switchcost_symbols::Symbols;

/// Replaces addresses by the names of known functions.
pub(super) fn name(stacks: &mut SampledStacks) {
    let mut symbols = Symbols::default();
    let is_known: Vec<bool> = stacks.modules.iter().map(is_there).collect();
    for frame in &mut stacks.frames {
        let at = frame.module as usize;
        if is_known.get(at).is_some_and(|is_known| *is_known) {
            frame.function = symbols
                .resolve(Path::new(&stacks.modules[at].path), None, frame.offset)
                .function;
        }
    }
}

/// Whether the path still leads to the mapped file. In a container the path may lead to another
/// file, and the file may have been replaced.
fn is_there(module: &Module) -> bool {
    module.inode > 0 && fs::metadata(&module.path).is_ok_and(|facts| facts.ino() == module.inode)
}
