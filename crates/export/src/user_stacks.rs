//! Sampled stacks of the observed programs.

use switchcost_record::observation::{Frame, Module, SampledStacks, UserStack};
use switchcost_record::plain;

use crate::rows::{Row, Rows, named};

/// Returns one row for each sampled stack: the task's name, its functions, and whether the task
/// left its CPU to wait.
pub(crate) fn rows(stacks: &SampledStacks) -> Rows {
    let comment = format!(
        "sampled: at {} switches, by chance; {} a second were asked for. Each sample stands for as many switches as there were for one.",
        stacks.samples(),
        stacks.per_second
    );
    let row = |stack: &UserStack| Row {
        frames: frames(stacks, stack),
        values: vec![stack.samples, stack.switches],
        process: Some(stack.process),
    };
    let kinds = vec![("samples", "count"), ("switches", "count")];
    Rows {
        kinds,
        usual: 1,
        rows: stacks.stacks.iter().map(row).collect(),
        comment: Some(comment),
    }
}

fn frames(stacks: &SampledStacks, stack: &UserStack) -> Vec<String> {
    let functions = stacks
        .frames_of(stack)
        .rev()
        .map(|(frame, module)| function(frame, module));
    let why = if stack.is_wait {
        "waits"
    } else {
        "could have run on"
    };
    let frames = std::iter::once(named(&stack.name).to_owned())
        .chain(functions)
        .chain([why.to_owned()]);
    frames.map(|frame| plain(&frame).into_owned()).collect()
}

/// Returns the name of a frame's function. Without a symbol, returns the module's file name and the
/// offset in the module (`server+0x30`), or only the name of a module that is not a file.
fn function(frame: &Frame, module: &Module) -> String {
    let file = module.path.rsplit('/').next().unwrap_or(&module.path);
    match &frame.function {
        Some(function) => function.clone(),
        None if module.inode == 0 && frame.offset == 0 => file.to_owned(),
        None => format!("{file}+{:#x}", frame.offset),
    }
}

#[cfg(test)]
mod tests {
    use switchcost_record::observation::Observation;

    use super::*;
    use crate::folded;
    use crate::testing::large;

    fn sampled() -> Observation {
        let module = |path: &str, inode| Module {
            path: path.to_owned(),
            inode,
        };
        let frame = |module, offset, function: Option<&str>| Frame {
            module,
            offset,
            function: function.map(str::to_owned),
        };
        let stack = |frames: &[u32], is_wait, switches| UserStack {
            process: 7,
            name: "server".to_owned(),
            is_wait,
            samples: 2,
            switches,
            frames: frames.to_vec(),
        };
        let stacks = SampledStacks {
            per_second: 100,
            lost_switches: 0,
            modules: vec![
                module("/usr/lib/libc.so.6", 5),
                module("/usr/bin/server", 6),
                module("[anonymous memory]", 0),
            ],
            frames: vec![
                frame(0, 0x10, Some("read")),
                frame(1, 0x20, Some("serve(int; char)")),
                frame(1, 0x30, None),
                frame(2, 0, None),
            ],
            stacks: vec![
                stack(&[0, 1, 2], true, 900),
                stack(&[3], false, 100),
                stack(&[99], true, 1),
            ],
        };
        Observation {
            stacks: Some(stacks),
            ..large()
        }
    }

    #[test]
    fn sampled_stacks_are_of_functions_or_of_places_in_files() {
        let expected = "server;[anonymous memory];could have run on 100\nserver;server+0x30;serve(int: char);read;waits 900\n\
                        server;waits 1\n";
        assert_eq!(
            folded(&sampled()),
            expected,
            "one that a damaged record has no place for is left out"
        );
    }
}
