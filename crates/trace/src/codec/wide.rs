//! Machine instructions that process four numbers together. The program detects once whether the
//! CPU has these instructions, and uses them in the innermost loops.

#[cfg(target_arch = "x86_64")]
pub(super) use pulp::x86::V3;

/// Proof that the machine has the instructions of x86-64-v3, such as AVX2; empty if it does not.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wide {
    #[cfg(target_arch = "x86_64")]
    pub(super) v3: Option<V3>,
}

impl Wide {
    pub(super) fn detect() -> Wide {
        Wide {
            #[cfg(target_arch = "x86_64")]
            v3: V3::try_new(),
        }
    }

    /// Calls a function that is compiled for the wide instructions, if the machine has them. Only
    /// code inlined into the function uses them.
    #[inline(always)]
    pub(super) fn call<R>(self, function: impl FnOnce() -> R) -> R {
        #[cfg(target_arch = "x86_64")]
        if let Some(v3) = self.v3 {
            return v3.vectorize(function);
        }
        function()
    }
}
