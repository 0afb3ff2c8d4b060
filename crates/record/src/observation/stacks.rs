use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Stacks of the observed programs at their switches, sampled at random.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct SampledStacks {
    /// Samples a second that were requested.
    pub per_second: u64,
    /// Switches whose samples were lost for lack of room.
    pub lost_switches: u64,
    /// Files that contain the code.
    pub modules: Vec<Module>,
    /// Code locations on the stacks; each refers to one of `modules`.
    pub frames: Vec<Frame>,
    /// Stacks with their counts, the most frequent first.
    pub stacks: Vec<UserStack>,
}

/// A file that contains code, or memory that belongs to no file.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Module {
    /// Path of the file in the process's own view, or the kernel's word in brackets; hostile text until escaped.
    pub path: String,
    /// Inode of the file; 0 if there is no file.
    pub inode: u64,
}

/// A place in a program's code.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Frame {
    /// Index of the module in [`SampledStacks::modules`].
    pub module: u32,
    /// Offset of the place in the module's file.
    pub offset: u64,
    /// Function at that place, if the file names it; hostile text until escaped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
}

/// A stack, with the number of times that it was seen.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct UserStack {
    /// ID of the process to which the stack belongs.
    pub process: u32,
    /// Name of the thread; hostile text until escaped.
    pub name: String,
    /// Whether the task left its CPU to wait; otherwise it could have continued.
    pub is_wait: bool,
    /// Number of samples with this stack.
    pub samples: u64,
    /// Number of switches that the samples represent.
    pub switches: u64,
    /// Indices of the frames, innermost first; empty if there is no stack, as at the end of a task.
    pub frames: Vec<u32>,
}

impl SampledStacks {
    /// Returns the number of samples in all stacks.
    pub fn samples(&self) -> u64 {
        self.stacks
            .iter()
            .fold(0, |sum, stack| sum.saturating_add(stack.samples))
    }

    /// Returns the frames of a stack with their modules, innermost first. Invalid indices of a
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
