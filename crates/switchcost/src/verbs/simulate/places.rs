//! Names for the places in the code that excess cycles are attributed to.

use std::path::Path;

use simulation_result::DesignResult;
use symbols::Symbols;

/// Fills in functions and lines, where the traced files are still there and say them.
pub(super) fn name(designs: &mut [DesignResult]) {
    let mut symbols = Symbols::default();
    for cost in designs.iter_mut().flat_map(|design| &mut design.code) {
        let Some(object) = &cost.object else { continue };
        let place = symbols.resolve(Path::new(object), cost.build_id.as_deref(), cost.offset);
        cost.function = place.function;
        cost.line = place.line;
    }
}
