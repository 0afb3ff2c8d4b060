//! Tests the endpoint with several kinds of clients, while an observation is in progress.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::*;

/// A simulated observation that works every 5 ms until [`Observed::end`]. Its thread returns the
/// longest time that a step took.
struct Observed {
    address: SocketAddr,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<Duration>>,
}

fn observed() -> Observed {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/observation_record/small");
    let observation = Observation::read(&path).expect("a record");
    let listener = listen("127.0.0.1:0".parse().expect("an address")).expect("a free port");
    let address = listener.local_addr().expect("it has one");
    let mut endpoint = Endpoint::start(listener, Matching::default()).expect("a thread");
    let is_over = Arc::new(AtomicBool::new(false));
    let over = Arc::clone(&is_over);
    let look = move || {
        let mut longest = Duration::ZERO;
        while !over.load(Relaxed) {
            let began = Instant::now();
            endpoint.look(&mut || Ok(observation.clone()));
            longest = longest.max(began.elapsed());
            thread::sleep(Duration::from_millis(5));
        }
        let began = Instant::now();
        drop(endpoint);
        longest.max(began.elapsed())
    };
    Observed {
        address,
        is_over,
        thread: Some(thread::spawn(look)),
    }
}

impl Observed {
    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("it listens");
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .expect("a time-out");
        stream
    }

    /// Sends these bytes and returns the whole answer.
    fn answer(&self, bytes: &[u8]) -> Vec<u8> {
        let mut stream = self.connect();
        // After an early refusal the rest of the request may be refused, too.
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        answer
    }

    fn said(&self, bytes: &[u8]) -> String {
        String::from_utf8_lossy(&self.answer(bytes)).into_owned()
    }

    fn get(&self, path: &str) -> String {
        self.said(format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", self.address).as_bytes())
    }

    /// Checks that the observation ends promptly, and was never delayed.
    fn end(mut self) {
        self.is_over.store(true, Relaxed);
        let thread = self.thread.take().expect("it runs");
        let longest = thread.join().expect("it does not panic");
        // On a busy machine a thread may wait for its time slice; a client would have delayed it for seconds.
        assert!(longest < Duration::from_secs(2), "{longest:?}");
    }
}

#[test]
fn metrics_and_health_are_served() {
    let observed = observed();
    let metrics = |accept: &str| {
        let fields = format!("Host: {}\r\nAccept: {accept}\r\n", observed.address);
        observed.said(format!("GET /metrics HTTP/1.1\r\n{fields}\r\n").as_bytes())
    };
    for (accept, kind, is_open) in [
        (
            "application/openmetrics-text",
            "application/openmetrics-text; version=1.0.0",
            true,
        ),
        ("text/plain", "text/plain; version=0.0.4", false),
    ] {
        let metrics = metrics(accept);
        assert!(metrics.starts_with("HTTP/1.1 200 OK\r\n"), "{metrics}");
        assert!(
            metrics.contains(&format!("\r\nContent-Type: {kind}")),
            "{metrics}"
        );
        assert_eq!(metrics.trim_end().ends_with("# EOF"), is_open, "{metrics}");
        assert!(
            metrics.contains("\nswitchcost_snapshot_timestamp_seconds{} "),
            "{metrics}"
        );
    }
    assert!(observed.get("/healthz").ends_with("\r\n\r\nok\n"));
    assert!(observed.get("/").starts_with("HTTP/1.1 404 "));
    observed.end();
}

#[test]
fn packed_metrics_are_the_same() {
    let observed = observed();
    let fields = format!("Host: {}\r\nAccept-Encoding: gzip\r\n", observed.address);
    let answer = observed.answer(format!("GET /metrics HTTP/1.1\r\n{fields}\r\n").as_bytes());
    let at = answer.windows(4).position(|four| four == b"\r\n\r\n");
    let (head, body) = answer.split_at(at.expect("a head") + 4);
    assert!(String::from_utf8_lossy(head).contains("Content-Encoding: gzip\r\n"));
    let mut text = String::new();
    let mut packed = flate2::read::GzDecoder::new(body);
    packed.read_to_string(&mut text).expect("a gzip stream");
    let line = "# TYPE switchcost_context_switches_total counter\n";
    assert!(text.contains(line), "{text}");
    observed.end();
}

/// Tests only that requests with a body or an endless head are refused at once. The parser's tests
/// cover which values of Content-Length are refused.
#[test]
fn bodies_that_never_come_and_endless_heads_are_refused_at_once() {
    let observed = observed();
    let host = format!("/metrics HTTP/1.1\r\nHost: {}\r\n", observed.address);
    for (request, code) in [
        (
            format!("POST {host}Content-Length: 99999999999\r\n\r\n"),
            413,
        ),
        (format!("GET {host}X: {}", "x".repeat(1 << 20)), 431),
        // TLS.
        ("\x16\x03\x01\x02\0\x01\0\x01".to_owned(), 400),
    ] {
        let answer = observed.said(request.as_bytes());
        assert!(answer.starts_with(&format!("HTTP/1.1 {code} ")), "{answer}");
    }
    observed.end();
}

#[test]
fn clients_that_do_not_read_and_clients_that_do_not_ask_keep_no_one_waiting() {
    let observed = observed();
    let request = format!(
        "GET /metrics HTTP/1.1\r\nHost: {}\r\n\r\n",
        observed.address
    );
    let deaf: Vec<TcpStream> = (0..4)
        .map(|_| {
            let mut stream = observed.connect();
            stream.set_nonblocking(true).expect("a flag");
            let _ = stream.write(request.repeat(3000).as_bytes());
            stream
        })
        .collect();
    let silent: Vec<TcpStream> = (0..server::MOST + 30).map(|_| observed.connect()).collect();
    let began = Instant::now();
    for _ in 0..20 {
        assert!(observed.get("/metrics").starts_with("HTTP/1.1 200 OK\r\n"));
    }
    assert!(
        began.elapsed() < connection::TIMEOUT,
        "sooner than silent clients time out: {:?}",
        began.elapsed()
    );
    drop((deaf, silent));
    observed.end();
}

#[test]
fn of_more_clients_than_there_are_places_each_gets_an_answer() {
    let observed = observed();
    let clients = (0..server::MOST + 120).map(|_| observed.connect());
    let mut clients: Vec<TcpStream> = clients.collect();
    for client in &mut clients {
        let host = observed.address;
        write!(client, "GET /metrics HTTP/1.1\r\nHost: {host}\r\n\r\n").expect("room");
    }
    let mut served = 0;
    for mut client in clients {
        let mut answer = Vec::new();
        let _ = client.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer);
        assert!(
            answer.starts_with("HTTP/1.1 200 ") || answer.starts_with("HTTP/1.1 503 "),
            "{answer}"
        );
        served += usize::from(answer.starts_with("HTTP/1.1 200 "));
    }
    assert!(served >= server::MOST, "{served}");
    observed.end();
}
