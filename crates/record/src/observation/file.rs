use std::io::{self, Write};

use crate::observation::{OBSERVATION_FORM, Observation, TracedCalls};
use crate::sealed_log::{Form, ReadRecordError, read_sealed_document, seal_document};
use crate::{Source, printable};

impl Form for Observation {
    const FORM: &'static str = OBSERVATION_FORM;
    const WRITER: &'static str = "switchcost observe";
}

impl Observation {
    /// Writes the observation as a JSON object, whose last field is a checksum of all bytes before
    /// it.
    ///
    /// # Errors
    ///
    /// If writing to `to` fails.
    pub fn write(&self, mut to: impl Write) -> io::Result<()> {
        to.write_all(&seal_document(self)?)?;
        to.flush()
    }

    /// Reads the record of an observation from its file.
    ///
    /// # Errors
    /// If the file cannot be read, or is not a record that this program can read.
    pub fn read(source: impl Into<Source>) -> Result<Observation, ReadRecordError> {
        read_sealed_document(&source.into(), Observation::contradiction)
    }

    /// Returns a description of a contradiction in the traced calls or between sums; `None` if
    /// there is none. Numbers of switches and causes may differ by one per task, because a switch
    /// may be counted in one sum and not yet in the other.
    fn contradiction(&self) -> Option<String> {
        let of_calls = self.calls.as_ref().and_then(TracedCalls::contradiction);
        of_calls.or_else(|| self.contradiction_of_causes())
    }

    fn contradiction_of_causes(&self) -> Option<String> {
        self.tasks
            .iter()
            .filter(|tasks| !tasks.causes.is_empty())
            .find_map(|tasks| {
                let causes = tasks
                    .causes
                    .iter()
                    .fold(0u64, |sum, cause| sum.saturating_add(cause.switches));
                let switches = tasks.switches();
                (causes.abs_diff(switches) > tasks.count).then(|| {
                    let name = printable(&tasks.name);
                    format!("{name} has {switches} switches and {causes} causes of switches")
                })
            })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::path::Path;

    use switchcost_units::Nanos;

    use super::*;
    use crate::Chain;
    use crate::observation::{CallSite, CallSlice, OffCpu, ThreadCalls};

    pub(in crate::observation) fn sample() -> Observation {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../fuzz/corpus/observation_record/small");
        Observation::read(&path).expect("a record that is read")
    }

    fn written(observation: &Observation) -> Vec<u8> {
        let mut text = Vec::new();
        observation.write(&mut text).expect("memory takes it");
        text
    }

    fn read(text: &[u8]) -> Result<Observation, String> {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), text).expect("it can be written");
        Observation::read(file.path()).map_err(|error| error.to_string())
    }

    #[test]
    fn traced_calls_come_back_and_those_that_do_not_fit_together_are_refused() {
        let site = CallSite {
            call: "read".to_owned(),
            address: 7,
            result: -11,
            has_woken: false,
            next: "write".to_owned(),
        };
        let off = OffCpu {
            at: 0,
            is_in_call: true,
            has_waited: true,
            others_ns: 5,
        };
        let thread = ThreadCalls {
            process: 7,
            process_name: "p".to_owned(),
            name: "a".to_owned(),
            site: vec![0],
            after_us: vec![1],
            call_ns: vec![2],
            user_ns: vec![3],
            off: vec![off],
        };
        let slice = |thread| CallSlice {
            began_ns: Nanos(1),
            length_ns: Nanos(2),
            threads: vec![thread],
        };
        let with = |thread: &ThreadCalls| Observation {
            calls: Some(TracedCalls {
                sites: vec![site.clone()],
                slices: vec![slice(ThreadCalls::default()), slice(thread.clone())],
                traced: 1,
                lost: 0,
            }),
            ..sample()
        };
        assert_eq!(read(&written(&with(&thread))), Ok(with(&thread)));
        let wrong: [fn(&mut ThreadCalls); 4] = [
            |thread| thread.site[0] = 1,
            |thread| thread.off[0].at = 1,
            |thread| thread.user_ns.clear(),
            |thread| thread.after_us.push(1),
        ];
        for spoil in wrong {
            let mut thread = thread.clone();
            spoil(&mut thread);
            let error = read(&written(&with(&thread))).expect_err("it does not fit");
            assert!(
                error.contains("the calls of traced thread 1 do not fit together"),
                "{error}"
            );
        }
    }

    #[test]
    fn each_changed_digit_is_found() {
        let observation = sample();
        let text = written(&observation);
        assert_eq!(read(&text), Ok(observation));
        for at in (0..text.len()).filter(|&at| text[at].is_ascii_digit()) {
            let mut changed = text.clone();
            changed[at] = if changed[at] == b'9' {
                b'8'
            } else {
                changed[at] + 1
            };
            let error = read(&changed).expect_err("it was changed");
            let is_named = ["checksum", "is of format switchcost.record.observation/"]
                .iter()
                .any(|why| error.contains(why));
            assert!(is_named, "{error}");
        }
        let at = text.len() - 10;
        assert!(
            read(&text[..at])
                .expect_err("it was cut")
                .contains("is damaged at line 1 (EOF while parsing")
        );
    }

    #[test]
    fn sums_that_contradict_each_other_and_other_versions_are_refused() {
        let mut other = sample();
        other
            .tasks
            .iter_mut()
            .for_each(|tasks| tasks.voluntary += 1000);
        assert!(
            read(&written(&other))
                .expect_err("its sums differ")
                .contains("causes of switches)")
        );
        for version in ["1", "3", "02"] {
            let other = Observation {
                schema: format!("switchcost.record.observation/{version}"),
                ..sample()
            };
            let error = read(&written(&other)).expect_err("another version");
            assert!(
                error.contains(&format!(
                    "is of format switchcost.record.observation/{version}, and this version reads "
                )),
                "{error}"
            );
        }
    }

    #[test]
    fn a_missing_field_is_named() {
        let whole: serde_json::Value = serde_json::to_value(sample()).expect("JSON");
        for field in [
            "is_unfinished",
            "waits",
            "moments",
            "known",
            "throttled",
            "longest_waits",
        ] {
            let mut without = whole.clone();
            without
                .as_object_mut()
                .and_then(|fields| fields.remove(field))
                .expect("a field");
            let mut text = serde_json::to_vec(&without).expect("JSON");
            Chain::default().seal(&mut text);
            let error = read(&text).expect_err("a field is missing");
            assert!(
                error.contains(&format!("is damaged at line 1 (missing field `{field}`")),
                "{error}"
            );
        }
    }
}
