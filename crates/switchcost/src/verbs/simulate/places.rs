//! Names for the places in the code that excess cycles are attributed to.

use std::fs::File;
use std::path::Path;

use simulation_result::DesignResult;
use symbols::Symbols;
use trace::KernelFunctions;

/// The kernel's functions that a trace names; none where it names none, or is no whole trace.
pub(super) fn functions_of(trace: &Path) -> KernelFunctions {
    let file = File::open(trace).ok().filter(|file| file.metadata().is_ok_and(|facts| facts.is_file()));
    file.and_then(|mut file| trace::kernel_functions(&mut file).ok()).unwrap_or_default()
}

/// Fills in functions and lines, where the traced files are still there and say them; those of the kernel by its own table.
pub(super) fn name(designs: &mut [DesignResult], kernel: &KernelFunctions) {
    let mut symbols = Symbols::default();
    for cost in designs.iter_mut().flat_map(|design| &mut design.code) {
        let Some(object) = &cost.object else {
            cost.function = kernel.at(cost.offset).map(str::to_owned);
            continue;
        };
        let place = symbols.resolve(Path::new(object), cost.build_id.as_deref(), cost.offset);
        cost.function = place.function;
        cost.line = place.line;
    }
}
