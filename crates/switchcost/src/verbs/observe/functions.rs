//! Names the functions in sampled stacks, from the files that the processes ran, if these still
//! exist.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use switchcost_record::observation::{Module, SampledStacks};
use switchcost_symbols::Symbols;

/// Replaces addresses in sampled stacks by function names, if these are known.
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

/// Returns true if the module's path still leads to the file that was mapped. The file may have
/// been replaced, or a container may have another file at this path.
fn is_there(module: &Module) -> bool {
    module.inode > 0 && fs::metadata(&module.path).is_ok_and(|facts| facts.ino() == module.inode)
}
