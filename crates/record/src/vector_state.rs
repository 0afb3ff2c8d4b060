use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, EnumIter, EnumString};
use switchcost_units::Bytes;

/// Vector registers that are in use when a task hands over the token. The kernel saves them at a
/// switch, and restores them afterwards.
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
    /// No vector registers: all are in their initial state, which the CPU tracks (XINUSE).
    Init,
    /// The XMM registers (SSE).
    Sse,
    /// The YMM registers (AVX), and those of SSE.
    Avx,
    /// The ZMM and mask registers (AVX-512), and those of AVX.
    Avx512,
    /// The tile registers (AMX), and those of AVX-512.
    Amx,
}

/// Vector registers in use, and the size of their saved state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, JsonSchema, Serialize, Deserialize)]
pub struct VectorCase {
    /// Vector registers that are in use at each hand-off.
    pub state: VectorState,
    /// Number of bytes that XSAVE writes for the registers, as CPUID reports. The legacy region,
    /// which contains the XMM registers, has 512 bytes.
    pub xsave_bytes: Bytes,
}

impl std::fmt::Display for VectorCase {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "{} ({})", self.state, self.xsave_bytes)
    }
}
