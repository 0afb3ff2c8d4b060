use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, EnumIter, EnumString};

/// A publication that can be reproduced.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Display,
    EnumString,
    EnumIter,
    JsonSchema,
    Serialize,
    Deserialize,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Paper {
    /// Li, Ding and Shen 2007.
    Li2007,
    /// The poster of Chen, Wu, Jiang and Hu.
    Michigan,
    /// The blog post on threads, a mutex and a condition variable.
    Blog,
    /// Mogul and Borg 1990.
    Mogul1990,
    /// lmbench's matrix of context switches.
    Lmbench,
    /// The papers' conclusions, tested on current machines.
    Today,
}

impl Paper {
    /// Returns the authors, title, place and date of the publication.
    pub fn citation(self) -> &'static str {
        match self {
            Paper::Li2007 => {
                "C. Li, C. Ding, K. Shen: Quantifying the Cost of Context Switch. Workshop on Experimental Computer \
                 Science (ExpCS), San Diego, June 2007"
            }
            Paper::Michigan => {
                "S. Chen, Y. Wu, X. Jiang, W. Hu: Deep Dive into the Cost of Context Switch. Poster, University of Michigan"
            }
            Paper::Blog => {
                "A blog post that measures switches between two threads with a mutex, a condition variable, getrusage and \
                 perf stat (Core i7-9850H, Linux 5.10)"
            }
            Paper::Lmbench => {
                "L. McVoy, C. Staelin: lmbench: Portable Tools for Performance Analysis. USENIX Annual Technical \
                 Conference, January 1996"
            }
            Paper::Today => {
                "The conclusions of Mogul and Borg 1990 (section 6) and the Michigan poster (introduction), tested on later machines"
            }
            Paper::Mogul1990 => {
                "J. C. Mogul, A. Borg: The Effect of Context Switches on Cache Performance. WRL Technical Note TN-16, \
                 Digital Western Research Laboratory, December 1990"
            }
        }
    }

    /// Returns the name and the subject of the publication, for a heading.
    pub fn title(self) -> &'static str {
        match self {
            Paper::Li2007 => {
                "Li, Ding and Shen 2007: direct and indirect cost by size, stride and access"
            }
            Paper::Michigan => {
                "The Michigan poster: switches at kernel and user level, and their cache misses"
            }
            Paper::Blog => {
                "A blog post: switches between two threads by a mutex and a condition variable"
            }
            Paper::Lmbench => "lmbench: the matrix of context switches",
            Paper::Today => "The papers' conclusions, then and now",
            Paper::Mogul1990 => "Mogul and Borg 1990: what switches do to caches",
        }
    }

    /// Returns definitions of the words that the publication's claims use; empty if none is needed.
    pub fn legend(self) -> &'static str {
        match self {
            Paper::Li2007 => {
                "Isolated runs have real-time priority, and the noise is on another CPU. rmw reads and writes each element."
            }
            Paper::Michigan => {
                "Additional misses or cycles are those of two alternating tasks minus those of one task."
            }
            Paper::Mogul1990 => {
                "1a, 1b, 2a and 2b are the study's designs, and Timesharing, Compute-bound and Client-Server its \
                 sets of programs. The shared CPI (cycles per instruction) is that of caches used by all \
                 processes, the private CPI that of caches used by one. Curves show the CPI or the excess cycles \
                 (shared minus private) by instructions since a switch. The cost is summed \
                 up to a cut-off, which 10 % of the segments between switches exceed."
            }
            Paper::Today => {
                "affinity:8 prefers the process that ran last, but passes no task over more than 8 times."
            }
            Paper::Blog | Paper::Lmbench => "",
        }
    }
}
