use maud::{Markup, html};
use switchcost_analysis::{Findings, Point, injection, observation, simulation};
use switchcost_design::result::Simulation;
use switchcost_record::MeasureRecord;
use switchcost_record::injection::Injection;
use switchcost_record::observation::Observation;

use super::section::{Section, blocks, figure_id};
use super::table;
use crate::figure::Figure;
use crate::inject::Injected;
use crate::measure::Measured;
use crate::observe::{By, Observed};
use crate::page::Block;
use crate::plain::plain;
use crate::simulate::{self, Simulated};
use crate::slug::slug;
use crate::{InEveryFormat, Page};

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
        /// Each measured sample as a point, from [`switchcost_analysis::points`].
        points: &'a [Point],
    },
    /// A simulation with its findings.
    Simulated {
        /// Name of the record's file.
        name: &'a str,
        /// The record without its intervals of switches.
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

/// Returns true if all simulations are of the same work in different orders.
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
    /// `id` of the content's element, and prefix of the `id` of all elements within.
    pub(super) id: String,
    pub(super) title: String,
    kind: &'static str,
    /// The answer in one paragraph; `None` if the report has no answer.
    pub(super) answer: Option<String>,
    intro: Vec<Block>,
    pub(super) sections: Vec<Section>,
}

impl Content {
    /// Creates the content about the record at index `place`. If all records are simulations of the
    /// same work in different orders, the title names the order.
    pub(super) fn from_place(place: usize, parts: &[Part<'_>]) -> Self {
        let id = format!("r{}", place + 1);
        match parts[place] {
            Part::Measured {
                name,
                record,
                findings,
                points,
            } => {
                let report = Measured {
                    record,
                    findings,
                    points,
                };
                Content::from_report(&id, name, "measured", &report)
            }
            Part::Simulated {
                name,
                head,
                findings,
            } => {
                let title = if is_of_orders(parts) {
                    simulate::orders::title(head, name)
                } else {
                    name.to_owned()
                };
                Content::from_report(&id, &title, "simulated", &Simulated { head, findings })
            }
            Part::Observed {
                name,
                observation,
                findings,
            } => {
                let report = Observed {
                    observation,
                    findings,
                    by: By::Program,
                };
                Content::from_report(&id, name, "observed", &report)
            }
            Part::Injected {
                name,
                record,
                findings,
            } => Content::from_report(&id, name, "injected", &Injected { record, findings }),
        }
    }

    /// Creates the content about several simulations together; `None` if they cannot be compared.
    pub(super) fn from_parts(parts: &[Part<'_>]) -> Option<Self> {
        let simulations: Vec<_> = parts
            .iter()
            .filter_map(|part| match *part {
                Part::Simulated {
                    name,
                    head,
                    findings,
                } => Some((name, head, findings)),
                _ => None,
            })
            .collect();
        let mut page = Page::with_figures();
        simulate::add_of_all(&mut page, &simulations);
        let content = Content::from_page("all", "All simulations", "simulated", page);
        (!content.sections.is_empty()).then_some(content)
    }

    /// Creates the content about one report, under the given title.
    pub(super) fn from_report(
        id: &str,
        title: &str,
        kind: &'static str,
        report: &impl InEveryFormat,
    ) -> Self {
        let mut page = Page::with_figures();
        report.add_to(&mut page);
        Content::from_page(id, title, kind, page)
    }

    fn from_page(id: &str, title: &str, kind: &'static str, page: Page) -> Self {
        let (mut intro, sections) = page.into_sections();
        let mut answer = None;
        intro.blocks.retain(|block| match block {
            Block::Paragraph(text) if answer.is_none() => {
                answer = Some(plain(text).into_owned());
                false
            }
            _ => true,
        });
        let sections = sections.into_iter().enumerate();
        Content {
            id: id.to_owned(),
            title: plain(title).into_owned(),
            kind,
            answer,
            intro: intro.blocks,
            sections: sections
                .map(|(place, section)| Section::new(id, place, section))
                .collect(),
        }
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

    /// Returns the figures, each with the `id` of its element.
    pub(super) fn figures(&self) -> impl Iterator<Item = (String, &Figure)> {
        self.blocks().filter_map(|block| match block {
            Block::Figure(figure) => Some((figure_id(&self.id, figure), figure.as_ref())),
            _ => None,
        })
    }

    /// Returns the tables as CSV, each with a name for its file.
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
