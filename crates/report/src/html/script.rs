use maud::{Markup, PreEscaped, html};
use plotly::Plot;

use crate::figure::Figure;

/// plotly.js as the plotly crate carries it, without the typesetter for formulas that stands after it there.
fn plotly_js() -> String {
    let mut sources = Plot::offline_js_sources();
    let start = sources.find('>').map_or(0, |place| place + 1);
    let end = sources.find("</script>").unwrap_or(sources.len());
    sources.truncate(end);
    // In place: a second copy would be the largest thing in memory.
    sources.drain(..start);
    sources
}

const DRAW: &str = include_str!("draw.js");

/// The figures as data that nothing runs, the library, and what draws them. The reader of a long page waits for the
/// figures that are in sight, not for all.
pub(super) fn markup<'a>(figures: impl Iterator<Item = (String, &'a Figure)>) -> Markup {
    html! {
        @for (id, figure) in figures {
            script type="application/json" id={ (id) "-data" } { (PreEscaped(figure.drawing.to_script())) }
        }
        script { (PreEscaped(plotly_js())) }
        script { (PreEscaped(DRAW)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_is_whole_and_alone() {
        let script = plotly_js();
        assert!(
            script.contains("plotly.js v") && script.len() > 3_000_000,
            "{}",
            script.len()
        );
        assert!(
            script.len() < 5_500_000,
            "the typesetter is in it: {}",
            script.len()
        );
        assert!(!script.contains("<script") && !script.contains("</script"));
    }
}
