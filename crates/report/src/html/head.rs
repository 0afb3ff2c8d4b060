use maud::{Markup, PreEscaped, html};

const STYLE: &str = include_str!("style.css");

/// Nothing may be fetched. Scripts and styles are those in the page; the script makes code for its larger figures
/// (`unsafe-eval`), and pictures of figures (`blob:`, `data:`).
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; \
                      img-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'";

/// What every page begins with.
pub(super) fn head(title: &str) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta http-equiv="Content-Security-Policy" content=(POLICY);
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            title { (title) }
            style { (PreEscaped(STYLE)) }
        }
    }
}
