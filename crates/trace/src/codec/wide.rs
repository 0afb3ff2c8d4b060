//! Wide machine instructions that process four numbers together, if the machine has them: detected
//! once, and used in the fastest loops.

#[cfg(target_arch = "x86_64")]
pub(super) use pulp::x86::V3;

/// Wide instructions of the machine, if detected.
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

    /// Calls a function compiled for the machine's wide instructions. Code that should use them must be inlined into it.
    #[inline(always)]
    pub(super) fn call<R>(self, function: impl FnOnce() -> R) -> R {
        #[cfg(target_arch = "x86_64")]
        if let Some(v3) = self.v3 {
            return v3.vectorize(function);
        }
        function()
    }
}
