//! Loads vector registers, so that they are in use, or in their initial state, when the kernel
//! switches away from a task.
//!
//! The kernel saves with XSAVE, which omits components in their initial state (XINUSE: Intel,
//! Software Developer's Manual, volume 1, section 13.6). The registers are therefore loaded with
//! XRSTOR from an area that has only the wanted components. The wanted components are in use
//! afterwards, and all others are in their initial state. Processors without XSAVE are not
//! supported.

#[cfg(not(target_arch = "x86_64"))]
mod none;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(not(target_arch = "x86_64"))]
use none as processor;
#[cfg(target_arch = "x86_64")]
use x86_64 as processor;

use strum::IntoEnumIterator;
use switchcost_record::{VectorCase, VectorState};

/// Returns the vector states that the processor and the kernel support, the smallest first. Empty
/// without XSAVE.
pub fn available() -> Vec<VectorCase> {
    let case =
        |state| processor::xsave_bytes(state).map(|xsave_bytes| VectorCase { state, xsave_bytes });
    VectorState::iter().filter_map(case).collect()
}

/// A set of vector registers that can be loaded repeatedly.
pub struct Vectors(processor::Area);

impl Vectors {
    /// Maps the area, loads the registers, and verifies by XINUSE that they are in use.
    ///
    /// # Errors
    ///
    /// If the processor lacks the registers, or XINUSE shows others after loading.
    pub fn new(state: VectorState) -> Result<Vectors, String> {
        let vectors = Vectors(processor::Area::new(state)?);
        vectors.load();
        match vectors.0.unexpected() {
            None => Ok(vectors),
            Some(in_use) => {
                let needed = "which is more than were loaded; measure on another machine";
                Err(format!(
                    "components {in_use:#x} are in use after --vector-state {state}, {needed}"
                ))
            }
        }
    }

    /// Loads the registers.
    #[inline(always)]
    pub fn load(&self) {
        self.0.load();
    }

    /// Whether the loaded registers are still in use.
    pub fn are_in_use(&self) -> bool {
        self.0.is_in_use()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_loaded_is_in_use_and_nothing_else() {
        let all = available();
        if all.is_empty() {
            println!("skipped: this processor has no XSAVE that says what is in use");
            return;
        }
        assert!(
            all.is_sorted_by_key(|case| (case.state, case.xsave_bytes)) && all.len() >= 2,
            "{all:?}"
        );
        for VectorCase { state, .. } in all.iter().chain(all.iter().rev()) {
            let vectors = Vectors::new(*state).expect("it is there");
            vectors.load();
            assert!(vectors.are_in_use(), "{state}");
        }
    }

    /// Shows that registers are no longer in use after the initial state was loaded, and that this
    /// is noticed.
    #[test]
    fn registers_that_went_back_to_their_initial_state_are_noticed() {
        let Some(widest) = available()
            .pop()
            .filter(|widest| widest.state > VectorState::Sse)
        else {
            println!("skipped: this processor has no registers beyond XMM");
            return;
        };
        let (wide, none) = (
            Vectors::new(widest.state).expect("there"),
            Vectors::new(VectorState::Init).expect("there"),
        );
        wide.load();
        assert!(wide.are_in_use());
        none.load();
        assert!(!wide.are_in_use());
    }

    #[test]
    fn what_the_processor_does_not_have_is_refused() {
        let there: Vec<VectorState> = available().iter().map(|case| case.state).collect();
        for state in VectorState::iter().filter(|state| !there.contains(state)) {
            let why = Vectors::new(state).err().expect("it is not there");
            assert!(why.contains(&format!("--vector-state {state}")), "{why}");
        }
    }
}
