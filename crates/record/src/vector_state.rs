use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, EnumIter, EnumString};
use switchcost_units::Bytes;

/// Which vector registers are in use when a task hands on the token: what the kernel saves at a switch, and loads again.
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
    /// None: all are in their initial state, which the processor notes (XINUSE).
    Init,
    /// The XMM registers.
    Sse,
    /// YMM, too.
    Avx,
    /// ZMM and the masks, too.
    Avx512,
    /// The tiles of AMX, too.
    Amx,
}

/// The same with what it takes in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, JsonSchema, Serialize, Deserialize)]
pub struct VectorCase {
    /// Which registers.
    pub state: VectorState,
    /// What XSAVE writes of them, as CPUID has it: the legacy region with XMM is 512 B.
    pub xsave_bytes: Bytes,
}

impl std::fmt::Display for VectorCase {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "{} ({})", self.state, self.xsave_bytes)
    }
}
