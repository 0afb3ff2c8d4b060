use maud::{Markup, html};
use switchcost_analysis::compare::{Comparison, History};
use switchcost_analysis::{Findings, Point, injection, observation, simulation};
use switchcost_design::result::Simulation;
use switchcost_record::MeasureRecord;
use switchcost_record::injection::Injection;
use switchcost_record::observation::Observation;

use super::section::{Section, blocks, figure_id};
use super::table;
use crate::figure::Figure;
use crate::page::Block;
use crate::plain::plain;
use crate::reproduce::Reproduction;
use crate::slug::slug;
use crate::{compare, inject, measure, observe, reproduce, simulate};

/// A record with its findings.
#[derive(Clone, Copy, Debug)]
pub enum Part<'a> {
    /// A measurement with its findings.
    Measured {
        /// Name of the record's file.
        name: &'a str,
        /// Record of the measurement.
        record: &'a MeasureRecord,
        /// Findings of the record.
        findings: &'a Findings,
        /// All measured times, as [`switchcost_analysis::points`] returns them.
        points: &'a [Point],
    },
    /// A simulation with its findings.
    Simulated {
        /// Name of the record's file.
        name: &'a str,
        /// The record without its intervals.
        head: &'a Simulation,
        /// Findings of the record.
        findings: &'a simulation::Findings,
    },
    /// An observation with its findings.
    Observed {
        /// Name of the record's file.
        name: &'a str,
        /// Record of the observation.
        observation: &'a Observation,
        /// Findings of the record.
        findings: &'a observation::Findings,
    },
    /// Injected preemptions with their findings.
    Injected {
        /// Name of the record's file.
        name: &'a str,
        /// Record of the injection.
        record: &'a Injection,
        /// Findings of the record.
        findings: &'a injection::Findings,
    },
}

/// Whether all simulations are of the same work, in several orders.
fn is_of_orders(parts: &[Part<'_>]) -> bool {
    let heads: Vec<&Simulation> = parts
        .iter()
        .filter_map(|part| {
            if let Part::Simulated { head, .. } = part {
                Some(*head)
            } else {
                None
            }
        })
        .collect();
    simulation::are_orders(&heads)
}

/// Content of a page about one record, or about several records together.
pub(super) struct Content {
    /// Name of the content's element; the names of all elements inside begin with it.
    pub(super) id: String,
    pub(super) title: String,
    kind: &'static str,
    /// The answer in one paragraph.
    pub(super) answer: Option<String>,
    intro: Vec<Block>,
    pub(super) sections: Vec<Section>,
}

impl Content {
    /// Creates the content about the record at this index. If the records are orders of the same
    /// work, titles name their differences.
    pub(super) fn from_place(place: usize, parts: &[Part<'_>]) -> Self {
        let part = &parts[place];
        let id = format!("r{}", place + 1);
        match part {
            Part::Measured {
                name,
                record,
                findings,
                points,
            } => {
                let blocks = measure::blocks(record, findings, points);
                Content::new(id, name, "measured", blocks)
            }
            Part::Simulated {
                name,
                head,
                findings,
            } => {
                let title = if is_of_orders(parts) {
                    simulate::orders::title(head, name)
                } else {
                    (*name).to_owned()
                };
                Content::new(id, &title, "simulated", simulate::blocks(head, findings))
            }
            Part::Observed {
                name,
                observation,
                findings,
            } => Content::new(id, name, "observed", observe::blocks(observation, findings)),
            Part::Injected {
                name,
                record,
                findings,
            } => Content::new(id, name, "injected", inject::blocks(record, findings)),
        }
    }

    /// Creates the content about two sides, without its blocks.
    pub(super) fn comparison_head(comparison: &Comparison) -> Self {
        Content::new(
            "c1".to_owned(),
            "Base and new",
            "compared",
            compare::blocks(comparison),
        )
    }

    pub(super) fn history_head(history: &History) -> Self {
        Content::new(
            "c1".to_owned(),
            "From state to state",
            "compared",
            compare::history::blocks(history),
        )
    }

    /// Creates the content about several simulations together; `None` without simulations.
    pub(super) fn from_parts(parts: &[Part<'_>]) -> Option<Self> {
        let simulations: Vec<_> = parts
            .iter()
            .filter_map(|part| match part {
                Part::Simulated {
                    name,
                    head,
                    findings,
                } => Some((*name, *head, *findings)),
                Part::Measured { .. } | Part::Observed { .. } | Part::Injected { .. } => None,
            })
            .collect();
        let blocks = simulate::blocks_of_all(&simulations);
        (!blocks.is_empty())
            .then(|| Content::new("all".to_owned(), "All simulations", "simulated", blocks))
    }

    /// Creates the content about a reproduced paper, without its blocks.
    pub(super) fn reproduction_head(reproduction: &Reproduction<'_>) -> Self {
        let blocks = reproduce::blocks(reproduction);
        Content::new(
            "r1".to_owned(),
            reproduction.paper.title(),
            "redone",
            blocks,
        )
    }

    fn new(id: String, title: &str, kind: &'static str, blocks: Vec<Block>) -> Self {
        let mut content = Content {
            id,
            title: plain(title).into_owned(),
            kind,
            answer: None,
            intro: Vec::new(),
            sections: Vec::new(),
        };
        for block in blocks {
            match block {
                Block::Heading { title, rest } => {
                    let section =
                        Section::new(&content.id, content.sections.len() + 1, &title, &rest);
                    content.sections.push(section);
                }
                Block::Paragraph(text)
                    if content.answer.is_none() && content.sections.is_empty() =>
                {
                    content.answer = Some(plain(&text).into_owned());
                }
                other => match content.sections.last_mut() {
                    Some(section) => section.blocks.push(other),
                    None => content.intro.push(other),
                },
            }
        }
        content
    }

    pub(super) fn markup(&self) -> Markup {
        html! {
            article id=(self.id) aria-labelledby={ (self.id) "-title" } {
                h2 id={ (self.id) "-title" } { (self.title) " " span class="kind" { (self.kind) } }
                (blocks(&self.intro, &self.id, &self.title))
                @for section in &self.sections { (section.markup(&self.id)) }
            }
        }
    }

    fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.intro
            .iter()
            .chain(self.sections.iter().flat_map(|section| &section.blocks))
    }

    /// Figures with the names of their elements.
    pub(super) fn figures(&self) -> impl Iterator<Item = (String, &Figure)> {
        self.blocks().filter_map(|block| match block {
            Block::Figure(figure) => Some((figure_id(&self.id, figure), figure.as_ref())),
            _ => None,
        })
    }

    /// Tables as CSV with names for their files.
    pub(super) fn tables(&self) -> Vec<(String, String)> {
        let mut tables = Vec::new();
        let intro = std::iter::once((&self.id, &self.intro));
        for (id, blocks) in intro.chain(
            self.sections
                .iter()
                .map(|section| (&section.id, &section.blocks)),
        ) {
            let mut number = 0;
            for block in blocks {
                match block {
                    Block::Grid(grid) if !grid.is_empty() => {
                        number += 1;
                        tables.push((format!("{id}-{number}"), table::as_csv(grid)));
                    }
                    Block::Figure(figure) => {
                        let name = format!("figure-{}-{}", self.id, slug(&figure.name));
                        tables.extend(
                            figure
                                .table
                                .as_ref()
                                .map(|grid| (name, table::as_csv(grid))),
                        );
                    }
                    _ => (),
                }
            }
        }
        tables
    }
}
