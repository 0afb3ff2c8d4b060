//! Renders one HTML page that holds everything: the answer, figures with their tables, and the
//! method of measurement.
//!
//! The input is records with their findings, or a comparison of records; the output is the page as
//! text, the names of its figures, and its tables as CSV. The page loads nothing from the network,
//! has no script, and is the same for the same records. All text from a record is hostile, so maud
//! escapes it.

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

/// An HTML page with its contents.
#[derive(Clone, Debug)]
pub struct Html {
    /// Text of the page.
    pub page: String,
    /// Figures as SVG, each by the `id` of its element, in the order of the page.
    pub figures: Vec<(String, String)>,
    /// The tables as CSV, by name.
    pub tables: Vec<(String, String)>,
}

impl Html {
    /// Names of the page's figures.
    pub fn figure_ids(&self) -> Vec<&str> {
        self.figures.iter().map(|(id, _)| id.as_str()).collect()
    }
}

/// Renders one page about some records.
pub fn render(parts: &[Part<'_>]) -> Html {
    let mut contents: Vec<Content> = (0..parts.len())
        .map(|place| Content::from_place(place, parts))
        .collect();
    contents.extend(Content::from_parts(parts));
    framed(&contents, "What a context switch costs", "report")
}

/// Renders one page about a comparison.
pub fn render_comparison(comparison: &Comparison) -> Html {
    let content = Content::from_report("c1", "Base and new", "compared", comparison);
    framed(&[content], COMPARED, "compare")
}

/// Renders one page about costs over many states.
pub fn render_history(history: &History) -> Html {
    let content = Content::from_report("c1", "From state to state", "compared", history);
    framed(&[content], COMPARED, "compare")
}

/// Renders one page about a reproduced paper.
pub fn render_reproduction(reproduction: &Reproduction<'_>) -> Html {
    let title = reproduction.paper.title();
    let report = std::slice::from_ref(reproduction);
    let content = Content::from_report("r1", title, "redone", &report);
    framed(&[content], "A paper, redone", "reproduce")
}

/// Creates the page with this title, which this command writes.
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

/// Renders the page that links to the pages of reproduced papers, each named after its paper.
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

/// Returns the answers at the top of the page: one for each record, with its name if there are several.
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
                    // A link to the first of several adjacent sections with the same name is enough.
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
