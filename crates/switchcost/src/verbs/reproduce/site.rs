//! Writes a site: an HTML page for each paper, an index that links to these pages, and the same
//! content as JSON.

use strum::IntoEnumIterator;
use switchcost_record::trust::open_listed;
use switchcost_report::reproduce::{Listed, Reproduction, render, render_markdown};
use switchcost_report::{Format, Style, html};
use switchcost_reproduce::Paper;

use super::folder::Folder;
use crate::exit::Outcome;
use crate::output::Output;
use crate::verbs::report::pictures;

pub(super) fn write(
    reproductions: &[Reproduction<'_>],
    folder: &Folder,
    wants_figures: bool,
) -> Outcome {
    for reproduction in reproductions {
        let name = reproduction.paper.to_string();
        let html = html::render_reproduction(reproduction);
        Output::create_in_folder(&folder.file(&format!("{name}.html")))?.write(&html.page)?;
        if wants_figures {
            pictures::write(&html, &folder.file("figures").join(&name))?;
        }
        let markdown = render_markdown(reproduction);
        Output::create_in_folder(&folder.file(&format!("{name}.md")))?.write(&markdown)?;
        let json = render(
            std::slice::from_ref(reproduction),
            Format::Json,
            Style::default(),
        );
        Output::create_in_folder(&folder.file(&format!("{name}.json")))?.write(&json)?;
    }
    let papers: Vec<Listed> = Paper::iter()
        .filter_map(|paper| listed(paper, reproductions, folder))
        .collect();
    Output::create_in_folder(&folder.index())?.write(&html::index(&papers))
}

/// Returns the index entry of a paper, from this run or from an earlier run in the same folder;
/// `None` if there is neither.
fn listed(paper: Paper, reproductions: &[Reproduction<'_>], folder: &Folder) -> Option<Listed> {
    match reproductions
        .iter()
        .find(|reproduction| reproduction.paper == paper)
    {
        Some(reproduction) => Some(Listed::new(reproduction)),
        None => {
            let file = open_listed(&folder.file(&format!("{paper}.json"))).ok()?;
            Listed::read(&std::io::read_to_string(file).ok()?)
        }
    }
}
