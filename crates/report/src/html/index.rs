use maud::{DOCTYPE, Markup, html};

use super::head::head;
use crate::plain::plain;
use crate::reproduce::{Reproduction, answer};

pub(super) fn page(reproductions: &[Reproduction<'_>]) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            (head("The papers, redone"))
            body {
                header {
                    h1 { "The papers, redone" }
                    p class="answer" {
                        "Each published figure and table beside what is found here, and for each thing that a paper shows \
                         whether it shows here, too."
                    }
                    @if let Some(first) = reproductions.first() { p { "Here: " (plain(first.machine)) "." } }
                }
                main {
                    @for reproduction in reproductions { (entry(reproduction)) }
                }
                footer { p { "Written by switchcost reproduce " (env!("CARGO_PKG_VERSION")) "." } }
            }
        }
    }
}

fn entry(reproduction: &Reproduction<'_>) -> Markup {
    let name = reproduction.paper.to_string();
    html! {
        section {
            h2 { a href={ (name) ".html" } { (reproduction.paper.title()) } }
            p { (reproduction.paper.citation()) "." }
            p { "Here, " (answer(&reproduction.verdicts)) }
            p { @for exhibit in reproduction.exhibits { (exhibit.name) ": " (exhibit.title) ". " } }
            p { a href={ (name) ".json" } { "The same for programs (JSON)" } }
        }
    }
}
