//! Names the places in code and data that excess cycles and evictions are attributed to.

use std::path::Path;

use switchcost_cachesim::Object;
use switchcost_design::result::DesignResult;
use switchcost_record::trust::open_listed;
use switchcost_symbols::Symbols;
use switchcost_trace::KernelSymbols;

/// Returns the kernel's symbols in a trace; empty if the trace has none or is incomplete.
pub(super) fn symbols_of(trace: &Path) -> KernelSymbols {
    let file = open_listed(trace).ok();
    file.and_then(|mut file| switchcost_trace::kernel_symbols(&mut file).ok())
        .unwrap_or_default()
}

/// Names of addresses: kernel addresses from the kernel's symbol table, other addresses from the
/// symbols of the traced files, if these still exist.
pub(super) struct Names {
    kernel: KernelSymbols,
    of_files: Symbols,
}

impl Names {
    pub(super) fn new(kernel: KernelSymbols) -> Names {
        Names {
            kernel,
            of_files: Symbols::default(),
        }
    }

    /// Returns the symbol or section at an offset in a file, or at a kernel address, for data and
    /// for evictors; `None` if unknown.
    pub(super) fn name_data(&mut self, object: Option<&Object>, offset: u64) -> Option<String> {
        match object {
            Some(Object { path, build_id }) => {
                self.of_files
                    .symbol_or_section(Path::new(path), build_id.as_deref(), offset)
            }
            None => self.kernel.name_at(offset).map(str::to_owned),
        }
    }

    /// Adds the functions and source lines of code to the results of designs.
    pub(super) fn name_code(&mut self, designs: &mut [DesignResult]) {
        let details = designs
            .iter_mut()
            .filter_map(|design| design.detail.as_mut());
        for cost in details.flat_map(|detail| &mut detail.code) {
            let Some(object) = &cost.object else {
                cost.symbol = self.kernel.name_at(cost.offset).map(str::to_owned);
                continue;
            };
            let place =
                self.of_files
                    .resolve(Path::new(object), cost.build_id.as_deref(), cost.offset);
            cost.symbol = place.function;
            cost.line = place.line;
        }
    }
}
