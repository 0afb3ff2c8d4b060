//! Renders an HTML page with the answer, figures, their tables, and the method of measurement.
//!
//! The input is records with their findings, or a comparison of records. The output is the text of
//! the page, the figures, and the tables as CSV. The page loads nothing from the network and has no
//! script. The same records give the same page. Text from a record is untrusted, so maud escapes
//! it.

mod head;
mod index;
mod method;
mod part;
mod section;
mod table;

use maud::{DOCTYPE, Markup, html};
use switchcost_analysis::compare::{Comparison, History};

use crate::reproduce::{Listed, Reproduction};
use head::head;
use part::Content;
pub use part::Part;

const COMPARED: &str = "What a context switch costs, compared";

/// An HTML page with its figures and tables.
#[derive(Clone, Debug)]
pub struct Html {
    /// Text of the page, as HTML.
    pub page: String,
    /// The page's figures in their order: the `id` of each figure's element, and its SVG.
    pub figures: Vec<(String, String)>,
    /// The page's tables: a name for each table's file, and its content as CSV.
    pub tables: Vec<(String, String)>,
}

impl Html {
    /// Returns the `id` of each figure's element, in the order of the page.
    pub fn figure_ids(&self) -> Vec<&str> {
        self.figures.iter().map(|(id, _)| id.as_str()).collect()
    }
}

/// Renders one page about one or more records.
pub fn render(parts: &[Part<'_>]) -> Html {
    let mut contents: Vec<Content> = (0..parts.len())
        .map(|place| Content::from_place(place, parts))
        .collect();
    contents.extend(Content::from_parts(parts));
    framed(&contents, "What a context switch costs", "report")
}

/// Renders one page about a comparison of two sides.
pub fn render_comparison(comparison: &Comparison) -> Html {
    let content = Content::from_report("c1", "Base and new", "compared", comparison);
    framed(&[content], COMPARED, "compare")
}

/// Renders one page about the history of costs over several states of a system.
pub fn render_history(history: &History) -> Html {
    let content = Content::from_report("c1", "From state to state", "compared", history);
    framed(&[content], COMPARED, "compare")
}

/// Renders one page about the reproduction of a paper.
pub fn render_reproduction(reproduction: &Reproduction<'_>) -> Html {
    let title = reproduction.paper.title();
    let report = std::slice::from_ref(reproduction);
    let content = Content::from_report("r1", title, "redone", &report);
    framed(&[content], "A paper, redone", "reproduce")
}

/// Renders a page with this title. `verb` is the subcommand that writes the page.
fn framed(contents: &[Content], title: &str, verb: &str) -> Html {
    let page = page(contents, title, verb).into_string();
    let figures = contents
        .iter()
        .flat_map(Content::figures)
        .map(|(id, figure)| (id, figure.svg.0.clone()))
        .collect();
    let tables = contents.iter().flat_map(Content::tables).collect();
    Html {
        page,
        figures,
        tables,
    }
}

/// Renders a page with links to the pages of reproduced papers, whose files are named after the
/// papers.
pub fn index(papers: &[Listed]) -> String {
    index::page(papers).into_string()
}

fn page(contents: &[Content], title: &str, verb: &str) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            (head(title))
            body {
                a class="skip" href="#content" { "Skip to the answer" }
                header {
                    h1 { (title) }
                    (answers(contents))
                }
                (navigation(contents))
                main {
                    @for content in contents { (content.markup()) }
                    (method::markup())
                }
                footer { p { "Written by switchcost " (verb) " " (env!("CARGO_PKG_VERSION")) "." } }
            }
        }
    }
}

/// Returns the answer of each record for the top of the page. If there are several records, each
/// answer begins with its record's name.
fn answers(contents: &[Content]) -> Markup {
    html! {
        div id="content" {
            @for content in contents {
                @if let Some(answer) = &content.answer {
                    p class="answer" {
                        @if contents.len() > 1 { strong { (content.title) ": " } }
                        (answer)
                    }
                }
            }
        }
    }
}

fn navigation(contents: &[Content]) -> Markup {
    html! {
        nav aria-label="Contents" {
            details class="contents" {
                summary { "Contents" }
                @for content in contents {
                    @if contents.len() > 1 { p { a href={ "#" (content.id) } { (content.title) } } }
                    // If adjacent sections have the same name, only the first is linked.
                    ul {
                        @for run in content.sections.chunk_by(|a, b| a.title == b.title) {
                            li {
                                a href={ "#" (run[0].id) } { (run[0].title) }
                                @if run.len() > 1 { " (" (run.len()) ")" }
                            }
                        }
                    }
                }
            }
        }
    }
}
