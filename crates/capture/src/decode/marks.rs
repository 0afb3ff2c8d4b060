//! Decodes records other than blocks.

use switchcost_trace::{Cause, Mapping, Mark};

use super::{Decoder, Left, Problem, Take};
use crate::build_id;
use crate::protocol::{NO_SLOT, tag};

const LOW: u64 = 0xffff_ffff;

impl<T: Take> Decoder<'_, T> {
    /// Applies one record other than a block. Returns the mark for which the record stands, if any.
    pub(super) fn apply(
        &mut self,
        tag: u64,
        immediate: u64,
        words: &[u64],
    ) -> Result<Option<Mark>, Problem> {
        let mark = match (tag, words) {
            (tag::DEFINE, _) => {
                self.slots.define(immediate, words, self.take)?;
                return Ok(None);
            }
            (tag::SYSCALL_ENTER, []) => {
                self.slots.set_syscall(Some(immediate as u16));
                Mark::SyscallEnter {
                    number: immediate as u16,
                }
            }
            (tag::SYSCALL_EXIT, []) => {
                self.slots.set_syscall(None);
                Mark::SyscallExit {
                    number: immediate as u16,
                }
            }
            (tag::KERNEL_TOUCH, &[address, form]) => Mark::KernelTouch {
                address,
                bytes: form & !(1 << 63),
                is_store: form >> 63 != 0,
            },
            (tag::SWITCH, &[slots, reason]) => self.switch(slots >> 32, slots & LOW, reason)?,
            (tag::BORN, &[slots, _]) => self.born(immediate, slots)?,
            (tag::EXEC, words) => self.exec(immediate, words)?,
            (tag::EXIT, []) => match self.exit(immediate)? {
                Some(task) => Mark::Exit { task },
                None => return Ok(None),
            },
            (tag::BIRTH, &[slots, _, length, ref name @ ..])
                if self.is_as_run || self.is_system =>
            {
                let born = self.slots.born(
                    immediate,
                    slots >> 32,
                    slots & LOW,
                    Some(text(name, length)?),
                )?;
                Mark::Birth {
                    task: born.task,
                    process: born.process,
                    parent: born.parent,
                    name: born.name,
                }
            }
            (tag::FORK, &[slots]) if self.is_as_run => {
                self.slots.expect(immediate, slots >> 32, slots & LOW)?;
                return Ok(None);
            }
            (tag::LEAVE, &[counts]) if self.is_as_run => {
                self.left = Some(Left::read(immediate, counts).ok_or(Problem::Leave(immediate))?);
                return Ok(None);
            }
            (tag::MAP, words) => Mark::Map(mapping(words)?),
            (tag::UNMAP, &[start, bytes]) => Mark::Unmap { start, bytes },
            (tag::PAGE, &[virtual_address, physical_address, bytes]) => Mark::Page {
                virtual_address,
                physical_address,
                bytes,
            },
            // In scheduled captures the controller reports a birth at the fork (BORN), and time
            // stamps are not used.
            (tag::BIRTH | tag::STAMP, _) => return Ok(None),
            (
                tag::SYSCALL_ENTER
                | tag::SYSCALL_EXIT
                | tag::KERNEL_TOUCH
                | tag::SWITCH
                | tag::BORN
                | tag::EXIT
                | tag::FORK
                | tag::LEAVE
                | tag::UNMAP
                | tag::PAGE,
                _,
            ) => return Err(Problem::Short),
            _ => return Err(Problem::Tag(tag as u8)),
        };
        Ok(Some(mark))
    }

    fn switch(&mut self, from: u64, to: u64, reason: u64) -> Result<Mark, Problem> {
        let from = self.slots.id(from)?;
        let to = if self.is_system && to == u64::from(NO_SLOT) {
            self.slots.run_idle()
        } else {
            self.slots.run(to)?
        };
        let mark = Mark::Switch {
            from,
            to,
            is_voluntary: reason & 1 != 0,
            cause: cause(reason)?,
        };
        self.switches += u64::from(mark.is_switch());
        self.all_switches += 1;
        Ok(mark)
    }

    fn born(&mut self, slot: u64, slots: u64) -> Result<Mark, Problem> {
        let born = self.slots.born(slot, slots >> 32, slots & LOW, None)?;
        Ok(Mark::Birth {
            task: born.task,
            process: born.process,
            parent: born.parent,
            name: born.name,
        })
    }

    fn exec(&mut self, slot: u64, words: &[u64]) -> Result<Mark, Problem> {
        let [length, name @ ..] = words else {
            return Err(Problem::Short);
        };
        let name = text(name, *length)?;
        let (task, process) = self.slots.exec(slot, &name)?;
        Ok(Mark::Exec {
            task,
            process,
            name,
        })
    }
}

fn cause(reason: u64) -> Result<Cause, Problem> {
    Ok(match reason >> 8 & 0xff {
        0 => Cause::Syscall((reason >> 16) as u16),
        1 => Cause::PageFault,
        2 => Cause::Quantum,
        3 => Cause::WakeUp,
        4 => Cause::Interrupt,
        5 => Cause::Exit,
        6 => Cause::Unknown,
        other => return Err(Problem::Cause(other)),
    })
}

/// Returns `length` bytes that are packed into words.
fn text(words: &[u64], length: u64) -> Result<Vec<u8>, Problem> {
    let length = usize::try_from(length).map_err(|_| Problem::Short)?;
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes
        .get(..length)
        .map(<[u8]>::to_vec)
        .ok_or(Problem::Short)
}

fn mapping(words: &[u64]) -> Result<Mapping, Problem> {
    let &[start, bytes, offset, form, ref texts @ ..] = words else {
        return Err(Problem::Short);
    };
    let (id_length, path_length) = (form >> 8 & 0xff, form >> 16 & 0xffff_ffff);
    let id_words = texts
        .get(..id_length.div_ceil(8) as usize)
        .ok_or(Problem::Short)?;
    let path = text(&texts[id_words.len()..], path_length)?;
    let mut build_id = text(id_words, id_length)?;
    if build_id.is_empty() {
        build_id = build_id::read_build_id(&path).unwrap_or_default();
    }
    Ok(Mapping {
        start,
        bytes,
        offset,
        path,
        build_id,
        is_executable: form & 1 != 0,
    })
}
