//! Parses requests of HTTP clients, and checks that they are allowed.

use std::net::{IpAddr, SocketAddr};

use httparse::{Header, Status};

/// Maximum length of a request's head, in bytes.
pub(super) const LONGEST_HEAD: usize = 8 << 10;
/// Maximum number of header fields in a request.
const MOST_FIELDS: usize = 64;

/// A parsed HTTP request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) what: What,
    pub(super) form: Form,
    pub(super) takes_gzip: bool,
    /// Whether the method is GET rather than HEAD.
    pub(super) wants_body: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Metrics,
    Health,
}

/// Format of metrics that a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    OpenMetrics,
    /// Prometheus' text format 0.0.4, which every Prometheus client accepts.
    Prometheus,
}

/// Reason for refusing a request. Each reason has an HTTP status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    BadRequest,
    ForeignHost,
    NotFound,
    Method,
    Body,
    LongHead,
    /// The request was incomplete when its time limit was over.
    Slow,
}

/// Parses the bytes read so far as a request; `None` while the head is incomplete.
pub(super) fn read(bytes: &[u8], own: SocketAddr) -> Option<Result<Asked, Refused>> {
    let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
    let mut request = httparse::Request::new(&mut fields);
    match request.parse(bytes) {
        Ok(Status::Partial) if bytes.len() < LONGEST_HEAD => None,
        Ok(Status::Partial) | Err(httparse::Error::TooManyHeaders) => Some(Err(Refused::LongHead)),
        Ok(Status::Complete(_)) => Some(judge(&request, own)),
        Err(_) => Some(Err(Refused::BadRequest)),
    }
}

fn judge(request: &httparse::Request<'_, '_>, own: SocketAddr) -> Result<Asked, Refused> {
    let fields = &*request.headers;
    if has_body(fields) {
        return Err(Refused::Body);
    }
    let hosts: Vec<&[u8]> = values(fields, "host").collect();
    match hosts.as_slice() {
        // HTTP/1.0, which no browser uses, needs no host.
        [] if request.version == Some(0) => {}
        [host] if is_own(host, own) => {}
        [_] => return Err(Refused::ForeignHost),
        _ => return Err(Refused::BadRequest),
    }
    let wants_body = match request.method {
        Some("GET") => true,
        Some("HEAD") => false,
        _ => return Err(Refused::Method),
    };
    let path = request.path.unwrap_or_default();
    let what = match path.split_once('?').map_or(path, |(path, _)| path) {
        "/metrics" => What::Metrics,
        "/healthz" => What::Health,
        _ => return Err(Refused::NotFound),
    };
    Ok(Asked {
        what,
        form: form(fields),
        takes_gzip: takes_gzip(fields),
        wants_body,
    })
}

fn values<'a>(fields: &'a [Header<'a>], name: &'a str) -> impl Iterator<Item = &'a [u8]> {
    fields
        .iter()
        .filter(move |field| field.name.eq_ignore_ascii_case(name))
        .map(|field| field.value.trim_ascii())
}

fn has_body(fields: &[Header<'_>]) -> bool {
    values(fields, "content-length").any(|length| length != b"0")
        || values(fields, "transfer-encoding").next().is_some()
}

/// Returns true if the host in a request is the address of this endpoint, or a name of this machine
/// that nobody else can assign to the address. This check defends against DNS rebinding: a web
/// page's own name resolves to this address, and the browser sends that name. The port may differ
/// because of forwarding.
fn is_own(host: &[u8], own: SocketAddr) -> bool {
    let Ok(host) = std::str::from_utf8(host) else {
        return false;
    };
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, port),
        _ => (host, "80"),
    };
    let bare = name
        .strip_prefix('[')
        .and_then(|name| name.strip_suffix(']'))
        .unwrap_or(name);
    let is_address =
        |address: IpAddr| address == own.ip() || address.is_loopback() || own.ip().is_unspecified();
    let is_name = bare.eq_ignore_ascii_case("localhost") || bare.parse().is_ok_and(is_address);
    is_name && port.parse::<u16>().is_ok()
}

fn takes_gzip(fields: &[Header<'_>]) -> bool {
    weight(fields, "accept-encoding", "gzip") > Some(0.0)
}

/// Chooses the format of metrics: OpenMetrics if the client gives this format at least the weight
/// of plain text, otherwise Prometheus' text.
fn form(fields: &[Header<'_>]) -> Form {
    let open_metrics = weight(fields, "accept", "application/openmetrics-text");
    let text = weight(fields, "accept", "text/plain").unwrap_or(0.0);
    match open_metrics {
        Some(weight) if weight > 0.0 && weight >= text => Form::OpenMetrics,
        _ => Form::Prometheus,
    }
}

/// Returns the largest weight (`q=`) that a header field gives to a name in its list; `None` if the
/// name is not listed.
fn weight(fields: &[Header<'_>], field: &str, wanted: &str) -> Option<f32> {
    let weight_of = |item: &str| {
        let mut parts = item.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let weight = parts.find_map(|parameter| parameter.strip_prefix("q="));
        let weight = weight.map_or(Some(1.0), |weight| weight.trim().parse::<f32>().ok());
        weight.filter(|_| name.eq_ignore_ascii_case(wanted))
    };
    values(fields, field)
        .filter_map(|value| std::str::from_utf8(value).ok())
        .flat_map(|value| value.split(',').filter_map(weight_of))
        .reduce(f32::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &str = "127.0.0.1:9435";

    fn read(text: &str) -> Option<Result<Asked, Refused>> {
        super::read(text.as_bytes(), OWN.parse().expect("an address"))
    }

    fn asked(line: &str, fields: &str) -> Result<Asked, Refused> {
        read(&format!("{line} HTTP/1.1\r\n{fields}\r\n")).expect("a whole head")
    }

    const HOST: &str = "Host: localhost:9435\r\n";

    #[test]
    fn metrics_and_health_may_be_asked_for() {
        let metrics = Asked {
            what: What::Metrics,
            form: Form::Prometheus,
            takes_gzip: false,
            wants_body: true,
        };
        let head = Asked {
            wants_body: false,
            ..metrics
        };
        let health = Asked {
            what: What::Health,
            ..metrics
        };
        for (line, answer) in [
            ("GET /metrics", Ok(metrics)),
            ("GET /metrics?name[]=x", Ok(metrics)),
            ("HEAD /metrics", Ok(head)),
            ("GET /healthz", Ok(health)),
            ("GET /", Err(Refused::NotFound)),
            ("POST /metrics", Err(Refused::Method)),
        ] {
            assert_eq!(asked(line, HOST), answer, "{line}");
        }
        assert_eq!(read("GET /metrics HTTP/1.0\r\n\r\n"), Some(Ok(metrics)));
    }

    #[test]
    fn gzip_is_given_to_whoever_takes_it() {
        for (value, is_given) in [
            ("gzip", true),
            ("deflate, gzip;q=0.5", true),
            ("GZIP", true),
            ("br", false),
            ("gzip;q=0", false),
        ] {
            let fields = format!("{HOST}Accept-Encoding: {value}\r\n");
            let asked = asked("GET /metrics", &fields).expect("metrics");
            assert_eq!(asked.takes_gzip, is_given, "{value}");
        }
    }

    #[test]
    fn open_metrics_are_given_to_whoever_accepts_them() {
        let form = |accept: &str| {
            asked("GET /metrics", &format!("{HOST}Accept: {accept}\r\n"))
                .expect("metrics")
                .form
        };
        let of_prometheus = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,\
                             application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;q=0.4,*/*;q=0.2";
        for (accept, given) in [
            (of_prometheus, Form::OpenMetrics),
            ("application/openmetrics-text", Form::OpenMetrics),
            (
                "Application/OpenMetrics-Text; version=1.0.0, text/plain;q=0.5",
                Form::OpenMetrics,
            ),
            ("text/plain", Form::Prometheus),
            ("text/plain;version=0.0.4;q=1,*/*;q=0.1", Form::Prometheus),
            (
                "text/plain, application/openmetrics-text;q=0.3",
                Form::Prometheus,
            ),
            ("application/openmetrics-text;q=0", Form::Prometheus),
            ("*/*", Form::Prometheus),
            ("text/html", Form::Prometheus),
            ("", Form::Prometheus),
        ] {
            assert_eq!(form(accept), given, "{accept}");
        }
    }

    #[test]
    fn bodies_are_refused_whatever_their_length() {
        let with = |field: &str| asked("GET /metrics", &format!("{HOST}{field}\r\n"));
        for length in "1 99999999999 18446744073709551615 -1 x +0 00".split(' ') {
            let found = with(&format!("Content-Length: {length}"));
            assert_eq!(found, Err(Refused::Body), "{length}");
        }
        assert_eq!(with("Transfer-Encoding: chunked"), Err(Refused::Body));
        assert!(with("Content-Length: 0").is_ok());
    }

    #[test]
    fn only_the_address_and_localhost_are_answered() {
        let of = |host: &str| asked("GET /metrics", &format!("Host: {host}\r\n")).is_ok();
        // A forwarded port may have another number.
        let own = "127.0.0.1:9435 localhost:9435 LOCALHOST:9435 [::1]:9435 127.0.0.1:8080 127.0.0.1 localhost:1 [::1]";
        for host in own.split(' ') {
            assert!(of(host), "{host}");
        }
        let others = "evil.example:9435,evil.example,localhost:,localhost:http,localhost.evil.example:9435,,[::1";
        for host in others.split(',') {
            assert!(!of(host), "{host}");
        }
        assert_eq!(asked("GET /metrics", ""), Err(Refused::BadRequest));
        assert_eq!(
            asked("GET /metrics", &format!("{HOST}{HOST}")),
            Err(Refused::BadRequest)
        );
        let anywhere = super::read(
            b"GET /metrics HTTP/1.1\r\nHost: 10.0.0.7:9435\r\n\r\n",
            "0.0.0.0:9435".parse().expect("one"),
        );
        assert!(
            anywhere.is_some_and(|asked| asked.is_ok()),
            "who listens at all addresses has them all"
        );
    }

    #[test]
    fn heads_have_an_end() {
        assert_eq!(read("GET /metrics HTTP/1.1\r\nHost:"), None);
        let long = format!("GET /{} HTTP/1.1\r\n", "x".repeat(LONGEST_HEAD));
        assert_eq!(read(&long), Some(Err(Refused::LongHead)));
        assert_eq!(
            asked("GET /metrics", &"a: b\r\n".repeat(MOST_FIELDS + 1)),
            Err(Refused::LongHead)
        );
        for odd in [
            "\0\0\0\0\r\n\r\n",
            "GET\r\n\r\n",
            "GET /metrics HTTP/2.0\r\n\r\n",
            "\u{16}\u{3}\u{1}",
        ] {
            assert_eq!(read(odd), Some(Err(Refused::BadRequest)), "{odd:?}");
        }
    }
}
