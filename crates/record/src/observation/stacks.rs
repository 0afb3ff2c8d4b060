use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Stacks of the observed programs at randomly sampled switches.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct SampledStacks {
    /// Number of samples per second that the user requested.
    pub per_second: u64,
    /// Number of switches whose samples were lost for lack of memory.
    pub lost_switches: u64,
    /// Files that contain the code on the stacks.
    pub modules: Vec<Module>,
    /// Code locations on the stacks. Each refers to one of `modules` by index.
    pub frames: Vec<Frame>,
    /// Stacks with their counts, most frequent first.
    pub stacks: Vec<UserStack>,
}

/// A file with code, or a memory area with code that belongs to no file.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Module {
    /// Path of the file as the process sees it, or the kernel's name in brackets for other memory.
    /// Untrusted text that must be escaped before it is shown.
    pub path: String,
    /// Inode number of the file; 0 if there is no file.
    pub inode: u64,
}

/// A code location: an offset in a module.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Frame {
    /// Index of the module in [`SampledStacks::modules`].
    pub module: u32,
    /// Offset in the module's file in bytes.
    pub offset: u64,
    /// Name of the function; `None` if the file has no symbol for it. Untrusted text that must be
    /// escaped before it is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
}

/// A stack with its numbers of samples and switches.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct UserStack {
    /// ID of the process whose stack this is.
    pub process: u32,
    /// Name of the thread; untrusted text that must be escaped before it is shown.
    pub name: String,
    /// Whether the task left its CPU in order to wait. Otherwise the task could have continued to
    /// run.
    pub is_wait: bool,
    /// Number of samples that have this stack.
    pub samples: u64,
    /// Number of switches that these samples represent.
    pub switches: u64,
    /// Indices in [`SampledStacks::frames`], innermost frame first. Empty if there is no stack, as
    /// when a task ends.
    pub frames: Vec<u32>,
}

impl SampledStacks {
    /// Returns the number of samples in all stacks.
    pub fn samples(&self) -> u64 {
        self.stacks
            .iter()
            .fold(0, |sum, stack| sum.saturating_add(stack.samples))
    }

    /// Returns the frames of a stack with their modules, innermost first. Invalid indices in a
    /// damaged record are skipped.
    pub fn frames_of<'a>(
        &'a self,
        stack: &'a UserStack,
    ) -> impl DoubleEndedIterator<Item = (&'a Frame, &'a Module)> {
        stack.frames.iter().filter_map(|&frame| {
            let frame = self.frames.get(frame as usize)?;
            Some((frame, self.modules.get(frame.module as usize)?))
        })
    }
}
