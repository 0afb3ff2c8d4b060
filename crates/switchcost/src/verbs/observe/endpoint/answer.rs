//! Formats the answers to HTTP clients.

use std::io::Write;
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;
use switchcost_export::{Scraped, metrics, prometheus_text};

use super::request::{Asked, Form, Refused};
use super::{Matching, Snapshot};

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";

/// An HTTP answer: its head, and a body that several answers may share.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) head: Vec<u8>,
    pub(super) body: Arc<Vec<u8>>,
}

impl Answer {
    fn new(status: &str, kind: &str, more: &str, body: Arc<Vec<u8>>, wants_body: bool) -> Answer {
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n{more}Connection: close\r\n\r\n",
            body.len()
        );
        Answer {
            head: head.into_bytes(),
            body: if wants_body { body } else { Arc::default() },
        }
    }

    fn text(status: &str, more: &str, body: &str) -> Answer {
        Answer::new(
            status,
            TEXT,
            more,
            Arc::new(format!("{body}\n").into_bytes()),
            true,
        )
    }

    pub(super) fn refusing(why: Refused) -> Answer {
        match why {
            Refused::BadRequest => Answer::text("400 Bad Request", "", "not HTTP/1.1"),
            Refused::ForeignHost => Answer::text(
                "403 Forbidden",
                "",
                "this is none of the host's names; ask by the address, or localhost",
            ),
            Refused::NotFound => Answer::text("404 Not Found", "", "see /metrics and /healthz"),
            Refused::Method => Answer::text(
                "405 Method Not Allowed",
                "Allow: GET, HEAD\r\n",
                "only GET and HEAD",
            ),
            Refused::Body => Answer::text("413 Content Too Large", "", "no bodies"),
            Refused::Slow => Answer::text("408 Request Timeout", "", "a head within 5 s"),
            Refused::LongHead => Answer::text(
                "431 Request Header Fields Too Large",
                "",
                "a head of at most 8 KiB",
            ),
        }
    }

    pub(super) fn busy() -> Answer {
        Answer::text(
            "503 Service Unavailable",
            "Retry-After: 1\r\n",
            "too many connections",
        )
    }

    pub(super) fn health(is_well: bool) -> Answer {
        if is_well {
            Answer::text("200 OK", "", "ok")
        } else {
            Answer::text(
                "503 Service Unavailable",
                "",
                "the observation does not go on",
            )
        }
    }

    pub(super) fn missing_snapshot() -> Answer {
        Answer::text(
            "503 Service Unavailable",
            "Retry-After: 1\r\n",
            "nothing was counted yet",
        )
    }
}

/// A snapshot as text in both formats of metrics, formatted once for all clients.
pub(super) struct Page {
    open_metrics: Result<Body, String>,
    prometheus: Result<Body, String>,
}

struct Body {
    plain: Arc<Vec<u8>>,
    packed: Option<Arc<Vec<u8>>>,
}

impl Page {
    pub(super) fn new(snapshot: &Snapshot, matching: &Matching, scraped: &mut Scraped) -> Page {
        let open_metrics = snapshot.counted.as_ref().as_ref().map(|observation| {
            let findings = matching.analyse(observation);
            metrics(observation, &findings, snapshot.unix_seconds, scraped)
        });
        let prometheus = open_metrics.as_deref().map(prometheus_text);
        let body = |text: Result<String, &String>| text.map(Body::new).map_err(Clone::clone);
        Page {
            prometheus: body(prometheus.map_err(|why| *why)),
            open_metrics: body(open_metrics),
        }
    }

    pub(super) fn answer(&mut self, asked: Asked) -> Answer {
        let (kind, body) = match asked.form {
            Form::OpenMetrics => (OPEN_METRICS, &mut self.open_metrics),
            Form::Prometheus => (PROMETHEUS, &mut self.prometheus),
        };
        let vary = "Vary: Accept, Accept-Encoding\r\n";
        match body {
            Ok(body) => match asked.takes_gzip.then(|| body.packed()).flatten() {
                Some(packed) => {
                    let more = format!("{vary}Content-Encoding: gzip\r\n");
                    Answer::new("200 OK", kind, &more, packed, asked.wants_body)
                }
                None => {
                    let plain = Arc::clone(&body.plain);
                    Answer::new("200 OK", kind, vary, plain, asked.wants_body)
                }
            },
            Err(why) => Answer::text("500 Internal Server Error", "", why),
        }
    }
}

impl Body {
    fn new(text: String) -> Body {
        Body {
            plain: Arc::new(text.into_bytes()),
            packed: None,
        }
    }

    fn packed(&mut self) -> Option<Arc<Vec<u8>>> {
        if self.packed.is_none() {
            self.packed = packed(&self.plain).map(Arc::new);
        }
        self.packed.clone()
    }
}

fn packed(text: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text).ok()?;
    encoder.finish().ok()
}
