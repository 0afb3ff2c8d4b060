use crate::sealed_log::{Form, LINE_LIMIT, LinePlace, LogLine, ReadRecordError, SealedLines};
use crate::{
    Cycles, End, Header, Latency, Line, MEASURE_FORM, Refusal, RuntimeRun, Sample, SelfTest, Source,
};

impl Form for Line {
    const FORM: &'static str = MEASURE_FORM;
    const WRITER: &'static str = "switchcost";
}

impl LogLine for Line {
    type Header = Header;

    fn from_header(header: Header) -> Line {
        Line::Header(Box::new(Header {
            schema: MEASURE_FORM.to_owned(),
            ..header
        }))
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
            _ => LinePlace::Between,
        }
    }
}

/// A record of a measurement, read back from its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeasureRecord {
    /// First line of the record: the machine, the plan and the conditions of the run.
    pub header: Header,
    /// Results of the known-answer tests of clocks and counters.
    pub self_tests: Vec<SelfTest>,
    /// Load latencies of the machine, by memory size.
    pub latencies: Vec<Latency>,
    /// Batches that were run for counters or for single hand-offs, in order.
    pub samples: Vec<Sample>,
    /// Windows of rounds, with and without interference, in order.
    pub cycles: Vec<Cycles>,
    /// Reports of language runtimes, one for each repetition.
    pub runtime_runs: Vec<RuntimeRun>,
    /// Cases and repetitions that could not be run, with the reasons.
    pub refusals: Vec<Refusal>,
    /// Last line of the record; `None` if the run was killed.
    pub end: Option<End>,
    /// Whether the file ends inside a line. The incomplete line is left out.
    pub has_cut_line: bool,
}

impl MeasureRecord {
    /// Returns a record with this header and nothing else.
    pub fn new(header: Header) -> Self {
        MeasureRecord {
            header,
            self_tests: Vec::new(),
            latencies: Vec::new(),
            samples: Vec::new(),
            cycles: Vec::new(),
            runtime_runs: Vec::new(),
            refusals: Vec::new(),
            end: None,
            has_cut_line: false,
        }
    }

    /// Reads a record from its file, up to the last complete line.
    ///
    /// # Errors
    /// If the file cannot be read, or is not a record that this program can read.
    pub fn read(source: impl Into<Source>) -> Result<Self, ReadRecordError> {
        let source = source.into();
        let mut lines = SealedLines::open(&source, LINE_LIMIT)?;
        let mut record = MeasureRecord::new(lines.header()?);
        while let Some(line) = lines.next_line()? {
            record.add(line).map_err(|why| lines.damaged(why))?;
        }
        record.has_cut_line = lines.has_cut_line();
        Ok(record)
    }

    /// Reads only the first line of a record.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or is not a record that this program can read.
    pub fn read_header(source: impl Into<Source>) -> Result<Header, ReadRecordError> {
        SealedLines::<Line>::open(&source.into(), LINE_LIMIT)?.header()
    }

    fn add(&mut self, line: Line) -> Result<(), String> {
        match line {
            Line::Header(_) => {}
            Line::SelfTest(test) => self.self_tests.push(test),
            Line::Latency(latency) => self.latencies.push(latency),
            Line::Sample(sample) => {
                self.check_case(sample.case, "a sample")?;
                self.samples.push(*sample);
            }
            Line::Cycles(cycles) => {
                self.check_case(cycles.case, "cycles")?;
                cycles.batches.fault().map_or(Ok(()), Err)?;
                self.cycles.push(*cycles);
            }
            Line::Runtime(run) => {
                self.check_case(run.case, "a runtime")?;
                self.runtime_runs.push(*run);
            }
            Line::Refusal(refusal) => {
                self.check_case(refusal.case, "a refusal")?;
                self.refusals.push(refusal);
            }
            Line::End(end) => self.end = Some(end),
        }
        Ok(())
    }

    fn check_case(&self, case: u32, what: &str) -> Result<(), String> {
        if case as usize >= self.header.plan.cases.len() {
            return Err(format!(
                "{what} of case {case}, which the plan does not hold"
            ));
        }
        Ok(())
    }
}
