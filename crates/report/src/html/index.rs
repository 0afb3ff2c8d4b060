use maud::{DOCTYPE, Markup, html};

use super::head::head;
use crate::plain::plain;
use crate::reproduce::Listed;

pub(super) fn page(papers: &[Listed]) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            (head("The papers, redone"))
            body {
                header {
                    h1 { "The papers, redone" }
                    p class="answer" {
                        "Each published figure and table next to the result here, and for each finding of a paper, whether it \
                         is found here, too."
                    }
                }
                main {
                    @for paper in papers { (entry(paper)) }
                }
                footer { p { "Written by switchcost reproduce " (env!("CARGO_PKG_VERSION")) "." } }
            }
        }
    }
}

fn entry(listed: &Listed) -> Markup {
    let name = listed.paper.to_string();
    html! {
        section {
            h2 { a href={ (name) ".html" } { (listed.paper.title()) } }
            p { (listed.paper.citation()) "." }
            p { "On " (plain(&listed.machine)) ": " (plain(&listed.answer())) }
            p { (plain(&listed.shown())) }
            p { a href={ (name) ".json" } { "The same for programs (JSON)" } }
        }
    }
}
