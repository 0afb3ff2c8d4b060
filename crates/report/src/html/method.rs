use maud::{Markup, html};

macro_rules! pages {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../method/", $name, ".md")))),*]
    };
}

/// Pages of `docs/method`: their names and texts. Each report contains these pages, so that the
/// report can be read without the source code.
const PAGES: &[(&str, &str)] = pages![
    "direct-cost",
    "total-and-indirect-cost",
    "hand-off",
    "baselines",
    "preemption",
    "user-level",
    "runtimes",
    "counting-switches",
    "contamination",
    "statistics",
    "clock",
    "counters",
    "knees-and-bounds",
    "reload",
    "shared-cache",
    "comparison",
    "validation",
    "reproduction",
    "simulation",
    "reordering",
    "simulated-cost",
    "observing",
    "injection",
];

/// Returns all pages of the method in collapsed sections. A link to a page opens its section.
pub(super) fn markup() -> Markup {
    html! {
        section id="method" aria-labelledby="method-title" {
            h2 id="method-title" { "How it is measured and computed" }
            p { "The pages of docs/method, as of the version that wrote this report." }
            @for (name, text) in PAGES {
                details { summary { "docs/method/" (name) ".md" } pre id={ "method-" (name) } { (text) } }
            }
        }
    }
}

/// Returns a line with links to the given pages of the method.
pub(super) fn links(pages: &[&'static str]) -> Markup {
    html! {
        p class="method" {
            "Method: "
            @for (i, page) in pages.iter().enumerate() {
                @if i > 0 { ", " }
                a href={ "#method-" (page) } { (page) }
            }
        }
    }
}
