use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Stacks of the observed programs at their switches, sampled at random.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct SampledStacks {
    /// Samples a second that were asked for.
    pub per_second: u64,
    /// Switches whose samples were lost for lack of room.
    pub lost_switches: u64,
    /// Files that code is in.
    pub modules: Vec<Module>,
    /// Places in them.
    pub frames: Vec<Frame>,
    /// The stacks, the most frequent first.
    pub stacks: Vec<UserStack>,
}

/// A file that code is in, or memory that is in none.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Module {
    /// Its path in the process's own view of files, or the kernel's word in brackets; hostile text until escaped.
    pub path: String,
    /// Its inode; 0 if it is no file.
    pub inode: u64,
}

/// A place in code.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Frame {
    /// Index of the module.
    pub module: u32,
    /// Offset in its file.
    pub offset: u64,
    /// The function there, if the file names it; hostile text until escaped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
}

/// A stack, with how often it was seen.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct UserStack {
    /// The process.
    pub process: u32,
    /// The name of the thread; hostile text until escaped.
    pub name: String,
    /// Whether it left its CPU to wait; otherwise it could have continued.
    pub is_wait: bool,
    /// Number of samples.
    pub samples: u64,
    /// Switches that these samples represent.
    pub switches: u64,
    /// Indices of its frames, the innermost first; empty if there is no stack, as at the end of a task.
    pub frames: Vec<u32>,
}

impl SampledStacks {
    /// How many samples there are.
    pub fn samples(&self) -> u64 {
        self.stacks
            .iter()
            .fold(0, |sum, stack| sum.saturating_add(stack.samples))
    }

    /// The frames of a stack, the innermost first, with their modules. What a damaged record has no place for is left out.
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
