use plotly::Configuration;
use plotly::Layout;
use plotly::common::{Anchor, Font, Orientation};
use plotly::layout::{DragMode, HoverMode, Legend, Margin, ModeBar, TraceOrder};
use plotly::{Trace, Traces};
use serde::Serialize;

/// Between the colours of paper and ink, legible on both: a page may be light or dark.
pub(super) const GREY: &str = "#777777";

const USUAL_HEIGHT: usize = 460;

/// What `Plotly.newPlot` takes. [`plotly::Plot`] says the same, but carries a copy of the script in every figure.
#[derive(Clone, Serialize)]
pub(crate) struct Drawing {
    data: Traces,
    layout: Layout,
    config: Configuration,
}

impl std::fmt::Debug for Drawing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Drawing")
            .field("traces", &self.data.len())
            .finish_non_exhaustive()
    }
}

impl Drawing {
    pub(super) fn new(traces: Vec<Box<dyn Trace>>, layout: Layout) -> Self {
        let mut data = Traces::new();
        traces.into_iter().for_each(|trace| data.push(trace));
        let config = Configuration::new()
            .responsive(true)
            .display_logo(false)
            .typeset_math(false);
        Drawing {
            data,
            layout,
            config,
        }
    }

    /// As JSON that may stand in a script element: no `<` is left in it, so nothing in it ends the element.
    pub(crate) fn to_script(&self) -> String {
        let mut json = serde_json::to_string(self).expect("every key of every map is text");
        for (found, escaped) in [
            ('<', "\\u003c"),
            ('\u{2028}', "\\u2028"),
            ('\u{2029}', "\\u2029"),
        ] {
            if json.contains(found) {
                json = json.replace(found, escaped);
            }
        }
        json
    }
}

/// The look that all figures share: no ground of their own, a legend above.
pub(super) fn layout() -> Layout {
    Layout::new()
        .auto_size(true)
        .height(USUAL_HEIGHT)
        .paper_background_color("rgba(0,0,0,0)")
        .plot_background_color("rgba(0,0,0,0)")
        .font(
            Font::new()
                .family("system-ui, sans-serif")
                .size(13)
                .color(GREY),
        )
        .margin(Margin::new().top(48).right(24).bottom(60).left(70))
        .hover_mode(HoverMode::Closest)
        .drag_mode(DragMode::Zoom)
        .legend(legend())
        .mode_bar(
            ModeBar::new()
                .background_color("rgba(0,0,0,0)")
                .color(GREY)
                .active_color("#0072B2"),
        )
}

fn legend() -> Legend {
    Legend::new()
        .orientation(Orientation::Horizontal)
        .x(0.0)
        .y(1.02)
        .y_anchor(Anchor::Bottom)
}

/// Height of a chart of rows without them and without names above, and of a name in a narrow chart, in pixels.
const FRAME: usize = 140;
const NAME: usize = 16;

/// The layout of a chart of rows of some height, as high as they and the names of so many parts need.
pub(super) fn rows(count: usize, height: usize, names: usize) -> Layout {
    layout()
        .legend(legend().trace_order(TraceOrder::Normal))
        .height(FRAME + height * count + NAME * names)
}

/// The layout of a figure without axes.
pub(super) fn outline() -> Layout {
    layout().margin(Margin::new().top(8).right(8).bottom(8).left(8))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plotly::Scatter;

    #[test]
    fn nothing_in_a_name_ends_the_script() {
        let hostile = "</script><script>alert(1)</script><!--\u{2028}";
        let drawing = Drawing::new(
            vec![Scatter::new(vec![1.0], vec![2.0]).name(hostile)],
            layout(),
        );
        let script = drawing.to_script();
        assert!(
            !script.contains('<') && !script.contains('\u{2028}'),
            "{script}"
        );
        let read: serde_json::Value = serde_json::from_str(&script).expect("still JSON");
        assert_eq!(read["data"][0]["name"], hostile);
    }
}
