//! Writes an observation as files for tools that show stacks.

use std::path::{Path, PathBuf};

use switchcost_export::{folded, pprof};
use switchcost_record::Source;

use super::{Loaded, claim};
use crate::cli::Stacks;
use crate::exit::{Failure, Outcome};
use crate::output::Output;

/// Files for stack tools, opened before the work begins.
pub(crate) struct StackFiles {
    folded: Option<Output>,
    pprof: Option<Output>,
}

impl StackFiles {
    pub(crate) fn claim(records: &[Source], stacks: &Stacks) -> Outcome<StackFiles> {
        let file = |name: &Option<PathBuf>| {
            name.as_deref()
                .map(|name: &Path| claim(records, Some(name)))
                .transpose()
        };
        Ok(StackFiles {
            folded: file(&stacks.folded)?,
            pprof: file(&stacks.pprof)?,
        })
    }

    pub(crate) fn is_any(&self) -> bool {
        self.folded.is_some() || self.pprof.is_some()
    }

    pub(crate) fn write(self, loaded: &Loaded) -> Outcome {
        if !self.is_any() {
            return Ok(());
        }
        let observation = loaded.observation().ok_or_else(|| {
            missing_causes(&format!("{} is not a record of observe", loaded.name()))
        })?;
        if observation.stacks.is_none()
            && observation
                .tasks
                .iter()
                .all(|tasks| tasks.causes.is_empty())
            && !observation.tasks.is_empty()
        {
            return Err(missing_causes("the observation has no causes"));
        }
        if let Some(output) = self.folded {
            output.write(&folded(observation))?;
        }
        self.pprof
            .map_or(Ok(()), |output| output.write_bytes(&pprof(observation)))
    }
}

fn missing_causes(wrong: &str) -> Failure {
    Failure::usage(format!(
        "{wrong}, which --folded and --pprof need; record one as root: sudo switchcost observe -p PID --record FILE"
    ))
}
