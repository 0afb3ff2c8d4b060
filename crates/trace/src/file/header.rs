use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::ReadTraceError;
use super::{TRACE_SCHEMA, TRACE_VERSION};

/// Length of the header of an imported trace in bytes. Spaces at its end leave room for notes on
/// what is found later in the source.
const IMPORTED_BYTES: usize = 4096;

/// Origin of the order in which tasks run in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TraceOrder {
    /// The tracing program scheduled the tasks.
    Scheduled,
    /// The kernel of the traced machine scheduled the tasks.
    AsRun,
    /// The imported file gave the order.
    Imported,
    /// A generator of synthetic traces made the order.
    Synthetic,
}

/// Header of a trace. Two captures of the same deterministic workload have the same header, because
/// it contains no time, no kernel process ID and no machine name.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct TraceHeader {
    /// Name and version of the format; set by the writer.
    pub schema: String,
    /// Version of the program that wrote the trace.
    pub program_version: String,
    /// Source of the events: `valgrind`, `qemu`, `lackey`, `din`, `synthetic` and so on.
    pub source: String,
    /// Origin of the order of the tasks.
    pub order: TraceOrder,
    /// Length of a time slice in instructions; `None` without time slices.
    pub quantum_instructions: Option<u64>,
    /// The traced commands, each with its arguments.
    pub commands: Vec<Vec<String>>,
    /// Architecture of the traced code, by the kernel's name: `x86_64`, `aarch64`.
    pub arch: String,
    /// Facts about the guest; `None` unless a whole system was traced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guest: Option<Guest>,
    /// Notes on results from the trace: sentences on what its source omitted or invented. The text
    /// is untrusted: escape it before display.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Facts about a traced guest.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Guest {
    /// Name of the kernel's image, without its folder: `vmlinuz-6.1.0-56-cloud-amd64`.
    pub kernel: String,
    /// The kernel's command line.
    pub command_line: String,
    /// Time slice set for the guest's scheduler, in nanoseconds; `None` if it was not set.
    pub slice_ns: Option<u64>,
    /// Number of instructions executed per second of the guest's time.
    pub instructions_per_second: u64,
}

impl TraceHeader {
    /// Creates a header without commands.
    pub fn new(source: &str, order: TraceOrder, arch: &str) -> Self {
        TraceHeader {
            schema: Self::schema_text(),
            program_version: env!("CARGO_PKG_VERSION").to_owned(),
            source: source.to_owned(),
            order,
            quantum_instructions: None,
            commands: Vec::new(),
            arch: arch.to_owned(),
            guest: None,
            notes: Vec::new(),
        }
    }

    fn schema_text() -> String {
        format!("{TRACE_SCHEMA}/{TRACE_VERSION}")
    }

    pub(super) fn write_json(&self) -> serde_json::Result<Vec<u8>> {
        let mut json = serde_json::to_vec(&TraceHeader {
            schema: Self::schema_text(),
            ..self.clone()
        })?;
        if self.order == TraceOrder::Imported {
            json.resize(json.len().max(IMPORTED_BYTES), b' ');
        }
        Ok(json)
    }

    /// Parses a header. Checks the version first, because a newer header may have other fields.
    pub(super) fn read_json(json: &[u8]) -> Result<Self, ReadTraceError> {
        #[derive(Deserialize)]
        struct Named {
            schema: String,
        }
        let refuse = |why: serde_json::Error| {
            ReadTraceError::NoTrace(format!("its header is not readable: {why}"))
        };
        let named: Named = serde_json::from_slice(json).map_err(refuse)?;
        check_schema(&named.schema)?;
        serde_json::from_slice(json).map_err(refuse)
    }
}

fn check_schema(found: &str) -> Result<(), ReadTraceError> {
    if found == TraceHeader::schema_text() {
        Ok(())
    } else {
        Err(ReadTraceError::Version(found.chars().take(80).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_known_version_is_read() {
        assert!(check_schema("switchcost.trace/3").is_ok());
        for other in [
            "switchcost.trace/2",
            "switchcost.trace/4",
            "switchcost.trace/03",
            "switchcost.trace/+3",
            "switchcost.trace",
            "x/3",
        ] {
            let refusal = check_schema(other)
                .expect_err("is no version that can be read")
                .to_string();
            assert_eq!(
                refusal,
                format!(
                    "it is of format {other}, and this version reads switchcost.trace/3; read it with the version of \
                     switchcost that wrote it"
                )
            );
        }
    }

    #[test]
    fn unknown_fields_are_skipped() {
        let header = TraceHeader::new("synthetic", TraceOrder::Synthetic, "x86_64");
        let json = String::from_utf8(header.write_json().expect("is plain data")).expect("is text");
        let more = json.replacen('{', "{\"colour\":\"blue\",", 1);
        assert_eq!(
            TraceHeader::read_json(more.as_bytes()).expect("is readable"),
            header
        );
    }
}
