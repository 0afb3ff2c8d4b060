use switchcost_units::Bytes;

use crate::Source;
use crate::injection::{Group, Header, INJECTION_FORM, Injection, Line, Run};
use crate::sealed_log::{Form, LINE_LIMIT, LinePlace, LogLine, ReadRecordError, SealedLines};

impl Form for Line {
    const FORM: &'static str = INJECTION_FORM;
    const WRITER: &'static str = "switchcost inject";
}

impl LogLine for Line {
    type Header = Header;

    fn from_header(header: Header) -> Line {
        Line::Header(Box::new(header))
    }

    fn into_header(self) -> Option<Header> {
        match self {
            Line::Header(header) => Some(*header),
            _ => None,
        }
    }

    fn place(&self) -> LinePlace {
        match self {
            Line::Header(_) => LinePlace::First,
            Line::End(_) => LinePlace::Last,
            Line::Run(_) | Line::Group(_) => LinePlace::Between,
        }
    }
}

impl Injection {
    /// Reads only the first line of an injection record.
    ///
    /// # Errors
    /// If the file cannot be read, or is not a record that this program can read.
    pub fn read_header(source: impl Into<Source>) -> Result<Header, ReadRecordError> {
        header(&mut SealedLines::open(&source.into(), LINE_LIMIT)?)
    }

    /// Reads an injection record, up to the last complete line.
    ///
    /// # Errors
    /// If the file cannot be read, or is not a record that this program can read.
    pub fn read(source: impl Into<Source>) -> Result<Injection, ReadRecordError> {
        let source = source.into();
        let mut lines = SealedLines::open(&source, LINE_LIMIT)?;
        let mut record = Injection {
            header: header(&mut lines)?,
            runs: Vec::new(),
            groups: Vec::new(),
            end: None,
        };
        while let Some(line) = lines.next_line()? {
            record.add(line).map_err(|why| lines.damaged(why))?;
        }
        Ok(record)
    }

    fn add(&mut self, line: Line) -> Result<(), String> {
        match line {
            Line::Header(_) => {}
            Line::Run(run) => {
                check_run(&self.header, &run)?;
                self.runs.push(run);
            }
            Line::Group(group) => {
                check_group(&self.header, &group)?;
                self.groups.push(group);
            }
            Line::End(end) => self.end = Some(end),
        }
        Ok(())
    }
}

fn header(lines: &mut SealedLines<'_, Line>) -> Result<Header, ReadRecordError> {
    let header = lines.header()?;
    check(&header).map_err(|why| lines.damaged(why))?;
    Ok(header)
}

fn check(header: &Header) -> Result<(), String> {
    let footprints = &header.plan.footprints_bytes;
    let is_rising = footprints.windows(2).all(|two| two[0] < two[1]);
    let is_fit = footprints.first() == Some(&Bytes(0)) && is_rising;
    if !is_fit {
        return Err("footprints that do not rise from 0".to_owned());
    }
    let timings = header.plan.timings();
    let is_again = |place: usize| {
        timings[..place]
            .iter()
            .any(|before| before.period_ns == timings[place].period_ns)
    };
    if (0..timings.len()).any(is_again) {
        Err("a period that is named twice".to_owned())
    } else {
        Ok(())
    }
}

fn check_timing(header: &Header, timing: u32) -> Result<(), String> {
    let is_planned = timing as usize <= header.plan.further.len();
    if is_planned {
        Ok(())
    } else {
        Err(format!("period {timing}, which the plan does not hold"))
    }
}

fn check_group(header: &Header, group: &Group) -> Result<(), String> {
    check_timing(header, group.timing)?;
    if header.service.is_none() || group.footprint as usize >= header.plan.footprints_bytes.len() {
        return Err(format!(
            "phases of footprint {}, which the plan does not hold",
            group.footprint
        ));
    }
    let arms = group.phases.map(|phase| phase.arm);
    if arms[0] == arms[1] || arms[1] != arms[2] || arms[0] != arms[3] {
        return Err("phases that are not in two arms, in turns".to_owned());
    }
    Ok(())
}

fn check_run(header: &Header, run: &Run) -> Result<(), String> {
    if run.footprint as usize >= header.plan.footprints_bytes.len() {
        return Err(format!(
            "a run of footprint {}, which the plan does not hold",
            run.footprint
        ));
    }
    check_timing(header, run.timing)?;
    if run.is_moved && (header.plan.moves_to.is_none() || run.footprint > 0 || run.timing > 0) {
        return Err("a copy that is moved, but not in the plan".to_owned());
    }
    if run.preempted > 1 {
        return Err(format!("twin {}, of two", run.preempted));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::injection::{Arm, Look, Phase, Plan, Service, Timing};
    use crate::{Chain, Readers, SealedLog};
    use std::path::{Path, PathBuf};
    use switchcost_units::{CpuId, Nanos};

    fn sample() -> Injection {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/injection_record/small");
        Injection::read(&path).expect("a record of this version")
    }

    fn run(footprint: u32) -> Run {
        Run {
            footprint,
            ..sample().runs.swap_remove(0)
        }
    }

    fn written(header: Header, lines: &[Line]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("record");
        let mut writer = SealedLog::create(Readers::Owner, &path, header).expect("a new file");
        lines
            .iter()
            .for_each(|line| writer.append(line).expect("room"));
        (folder, path)
    }

    fn read(path: &Path, text: &[u8]) -> Result<Injection, String> {
        std::fs::write(path, text).expect("room");
        Injection::read(path).map_err(|error| error.to_string())
    }

    /// Writes a record of a header and one more line, and reads it back.
    fn read_back(header: Header, line: Line) -> Result<Injection, String> {
        let (_folder, path) = written(header, &[line]);
        Injection::read(&path).map_err(|error| error.to_string())
    }

    #[test]
    fn what_was_written_is_read_and_each_changed_digit_is_found() {
        let Injection { header, end, .. } = sample();
        let last = Line::End(end.clone().expect("an end"));
        let lines = [Line::Run(run(0)), Line::Run(run(1)), last];
        let (_folder, path) = written(header.clone(), &lines);
        let record = Injection::read(&path).expect("a record");
        assert_eq!(
            (record.runs, record.end, record.header),
            (vec![run(0), run(1)], end, header)
        );
        let text = std::fs::read(&path).expect("a file");
        for at in (0..text.len()).filter(|&at| text[at].is_ascii_digit()) {
            let mut changed = text.clone();
            changed[at] ^= 1;
            assert!(read(&path, &changed).is_err(), "the digit at {at}");
        }
    }

    #[test]
    fn a_record_that_was_cut_has_its_whole_lines() {
        let (_folder, path) = written(sample().header, &[Line::Run(run(0)), Line::Run(run(1))]);
        let text = std::fs::read(&path).expect("a file");
        let found = read(&path, &text[..text.len() - 5]).expect("whole lines");
        assert_eq!((found.runs.len(), found.end), (1, None));
        let found = read(&path, &text[..200]).expect_err("no whole line");
        assert!(
            found.ends_with(
                "is not a record of switchcost inject (its only line is cut off); name a file written by switchcost inject"
            ),
            "{found}"
        );
        assert!(
            read(&path, b"{}\n")
                .expect_err("not one")
                .contains("(its schema is \"\", not switchcost.record.injection)")
        );
    }

    #[test]
    fn phases_are_of_a_service_in_two_arms_in_turns() {
        let phase = |arm| Phase {
            arm,
            wall_ns: Nanos(1),
            cpu_ns: Nanos(2),
            chain_ps: 3,
            work: 4,
            turns: 5,
            turns_run: 6,
            away_ns: Nanos(7),
            voluntary: 8,
            involuntary: 9,
        };
        let service = Some(Service {
            process: 7,
            thread: 8,
            name: "redis".to_owned(),
            work: "syscall:write".to_owned(),
            allowed: vec![CpuId(0), CpuId(1)],
            look: Look::default(),
        });
        let with = |service: &Option<Service>, footprint, arms: [Arm; 4]| {
            let header = Header {
                service: service.clone(),
                ..sample().header
            };
            let group = Group {
                block: 0,
                footprint,
                timing: 0,
                since_start_ns: Nanos(0),
                phases: arms.map(phase),
            };
            read_back(header, Line::Group(group))
        };
        let in_turns = [Arm::Idle, Arm::Spinning, Arm::Spinning, Arm::Idle];
        let record = with(&service, 1, in_turns).expect("a record");
        assert_eq!((&record.header.service, record.groups.len()), (&service, 1));
        assert!(
            record.groups[0].is_against_idle()
                && record.groups[0].phases(Arm::Spinning).count() == 2
        );
        let alternating = [Arm::Touching, Arm::Spinning, Arm::Touching, Arm::Spinning];
        for wrong in [
            with(&None, 1, in_turns),
            with(&service, 3, in_turns),
            with(&service, 1, [Arm::Touching; 4]),
            with(&service, 1, alternating),
        ] {
            let why = wrong.expect_err("it contradicts itself");
            assert!(why.contains("at line 2 (phases "), "{why}");
        }
    }

    #[test]
    fn footprints_periods_and_moves_are_of_the_plan() {
        let of = |change: fn(&mut Plan), line: Run| {
            let mut header = sample().header;
            change(&mut header.plan);
            let record = read_back(header, Line::Run(line))?;
            Ok::<_, String>(record.runs[0].way())
        };
        let further = |plan: &mut Plan| {
            plan.further = vec![Timing {
                period_ns: Nanos::millis(1),
                turn_ns: Nanos::millis(8),
            }];
        };
        let (rarer, moved) = (
            Run {
                timing: 1,
                ..run(0)
            },
            Run {
                is_moved: true,
                ..run(0)
            },
        );
        assert_eq!(of(|_| (), run(0)).expect("a record").timing, 0);
        assert_eq!(of(further, rarer.clone()).expect("a record").timing, 1);
        let moves = |plan: &mut Plan| plan.moves_to = Some(CpuId(0));
        assert!(of(moves, moved.clone()).expect("a record").is_moved);
        let twice = |plan: &mut Plan| plan.further = plan.timings();
        for (found, why) in [
            (
                of(|_| (), run(3)),
                "at line 2 (a run of footprint 3, which the plan does not hold",
            ),
            (
                of(|_| (), rarer),
                "at line 2 (period 1, which the plan does not hold",
            ),
            (
                of(|_| (), moved),
                "at line 2 (a copy that is moved, but not in the plan",
            ),
            (of(twice, run(0)), "at line 1 (a period that is named twice"),
        ] {
            let found = found.expect_err("not of the plan");
            assert!(found.contains(why), "{found}");
        }
    }

    #[test]
    fn other_versions_are_refused_and_a_missing_field_is_named() {
        let (_folder, path) = written(sample().header, &[Line::Run(run(0))]);
        let text = std::fs::read_to_string(&path).expect("a file");
        let without = |part: &str, other: &str| {
            let mut chain = Chain::default();
            let mut bytes = Vec::new();
            for line in text.lines() {
                let (body, _) = line.rsplit_once(",\"check\":\"").expect("a checksum");
                let mut line = format!("{body}}}").replacen(part, other, 1).into_bytes();
                chain = chain.seal(&mut line);
                bytes.extend_from_slice(&line);
                bytes.push(b'\n');
            }
            read(&path, &bytes)
        };
        assert!(without("", "").is_ok());
        for (part, other, why) in [
            (
                "injection/2",
                "injection/1",
                "is of format switchcost.record.injection/1, and this version reads ",
            ),
            ("\"timing\":0,", "", "missing field `timing`"),
            ("\"further\":[],", "", "missing field `further`"),
            (",\"is_frozen\":false", "", "missing field `is_frozen`"),
        ] {
            let error = without(part, other).expect_err("another version, or a missing field");
            assert!(error.contains(why), "{error}");
        }
    }
}
