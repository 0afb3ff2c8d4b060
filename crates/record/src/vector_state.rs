use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, EnumIter, EnumString};
use switchcost_units::Bytes;

/// Vector registers in use when a task hands on the token. The kernel saves them at a switch and restores them afterwards.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    JsonSchema,
    Serialize,
    Deserialize,
    Display,
    EnumString,
    EnumIter,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum VectorState {
    /// No vector registers: all are in their initial state, which the processor records (XINUSE).
    Init,
    /// The XMM registers (SSE).
    Sse,
    /// The YMM registers, as well as SSE.
    Avx,
    /// The ZMM registers and masks, as well as AVX.
    Avx512,
    /// The tiles of AMX, as well as AVX-512.
    Amx,
}

/// A vector state with its size in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, JsonSchema, Serialize, Deserialize)]
pub struct VectorCase {
    /// Registers that are in use.
    pub state: VectorState,
    /// Number of bytes that XSAVE writes for the registers, as CPUID reports; the legacy region
    /// with XMM takes 512 B.
    pub xsave_bytes: Bytes,
}

impl std::fmt::Display for VectorCase {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "{} ({})", self.state, self.xsave_bytes)
    }
}
