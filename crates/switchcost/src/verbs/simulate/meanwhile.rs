//! What the end of a simulation needs and what takes its time wherever it is done: read on another thread while the
//! trace is simulated.

use std::collections::HashSet;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};

use host::facts::{Root, manifest};
use record::HostManifest;
use symbols::{Symbols, hexadecimal};
use trace::{Chunk, Mapping, Mark};

/// More objects are not remembered.
const MOST_OBJECTS: usize = 64;

/// Path and build ID.
type Object = (String, Option<String>);

pub(super) struct Meanwhile {
    /// Objects that code was executed from.
    objects: Sender<Object>,
    known: HashSet<Object>,
    thread: Option<JoinHandle<(HostManifest, Symbols)>>,
}

impl Meanwhile {
    pub(super) fn begin() -> Meanwhile {
        let (objects, named) = channel();
        let thread = Builder::new().name("meanwhile".to_owned()).spawn(move || read(&named)).ok();
        Meanwhile { objects, known: HashSet::new(), thread }
    }

    /// Code in the objects that a chunk maps may have to be named.
    pub(super) fn look(&mut self, chunk: &Chunk) {
        for placed in &chunk.marks {
            if let Mark::Map(mapping) = &placed.mark
                && mapping.is_executable
                && self.known.len() < MOST_OBJECTS
                && self.known.insert(object(mapping))
            {
                // A thread that has ended is done without.
                let _ = self.objects.send(object(mapping));
            }
        }
    }

    /// What was read, or all that is needed to read it now.
    pub(super) fn end(self) -> (HostManifest, Symbols) {
        drop(self.objects);
        let read = self.thread.and_then(|thread| thread.join().ok());
        read.unwrap_or_else(|| (manifest(&Root::system()), Symbols::default()))
    }
}

fn object(mapping: &Mapping) -> Object {
    let build_id = Some(hexadecimal(&mapping.build_id)).filter(|id| !id.is_empty());
    (String::from_utf8_lossy(&mapping.path).into_owned(), build_id)
}

fn read(named: &Receiver<Object>) -> (HostManifest, Symbols) {
    let manifest = manifest(&Root::system());
    let mut symbols = Symbols::default();
    while let Ok((path, build_id)) = named.recv() {
        symbols.open_ahead(Path::new(&path), build_id.as_deref());
    }
    (manifest, symbols)
}
