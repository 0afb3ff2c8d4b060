//! Attacks `observe --listen` by clients, both well-behaved and hostile.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use rand_chacha::ChaCha8Rng;
use rustix::net::sockopt::set_socket_linger;
use rustix::process::{Pid, Signal, kill_process};

use crate::campaign::{Kind, Sample};
use crate::judge;
use crate::outcome::Outcome;
use crate::place::Place;
use crate::run::{LONGEST, Run, Running};
use crate::table::{self, Client, Then};

/// Longest time until a client is served. A client is usually served at once, or after half a
/// second if there is no free connection, but on a busy machine much later.
const SERVED_AGAIN_WITHIN: Duration = Duration::from_secs(5);
/// Longest time until the program ends after a signal, whatever the clients do.
const ENDS_WITHIN: Duration = Duration::from_secs(10);
/// Largest resident memory that the program may use, in KiB.
const MOST_MEMORY_KIB: u64 = 200 << 10;

pub(crate) struct Clients(Vec<Client>);

impl Clients {
    pub(crate) fn new() -> Clients {
        Clients(table::read::<table::Clients>(include_str!("../tables/clients.toml")).client)
    }
}

impl Kind for Clients {
    fn name(&self) -> &'static str {
        "clients"
    }

    fn sample(&self) -> Sample {
        Sample::All
    }

    fn draw(&self, _: &Place, _: &str, _: &mut ChaCha8Rng) -> Vec<String> {
        self.0
            .iter()
            .map(|client| format!("clients/{}", client.name))
            .collect()
    }

    fn attempt(&self, place: &Place, parts: &[&str]) -> Result<Outcome, String> {
        let client = self.0.iter().find(|client| parts == [client.name.as_str()]);
        let client =
            client.ok_or_else(|| format!("found {parts:?}, need one of tables/clients.toml"))?;
        let words = [
            "observe",
            "--no-calibration",
            "-a",
            "-d",
            "50s",
            "--listen",
            "0",
            "--record",
            "{made}/run.json",
        ];
        let words = words.map(str::to_owned);
        let running = Run::new(place, &words).start();
        let Some(address) = address(place, &running) else {
            return Ok(Outcome::Untried(format!(
                "it does not listen here: {}",
                running.end(LONGEST).reported()
            )));
        };
        // After the first answer, the program has allocated everything that it needs without
        // further clients.
        if let Err(why) = is_served(address) {
            return Ok(Outcome::Failed(format!(
                "{why}: {}",
                running.end(Duration::ZERO).reported()
            )));
        }
        let used = used(&running);
        let attacked = attack(client, address).and_then(|stayed| {
            let served = is_served(address);
            drop(stayed);
            served
        });
        let judged = attacked.and_then(|()| is_small_again(&running, &used));
        let ended = end(place, running);
        Ok(judged.and(ended).into())
    }
}

/// Waits for the address that the program prints; `None` if it prints none in time.
fn address(place: &Place, running: &Running<'_>) -> Option<SocketAddr> {
    let start = Instant::now();
    while start.elapsed() < LONGEST && running.is_there() {
        let said = fs::read_to_string(place.path("stderr")).unwrap_or_default();
        let found = said
            .split(|letter: char| letter.is_whitespace() || letter == '/')
            .find_map(|word| word.parse().ok());
        if found.is_some() && said.contains("observing all tasks") {
            return found;
        }
        thread::sleep(Duration::from_millis(10));
    }
    None
}

/// Starts all clients at once, and returns their connections that stay open.
fn attack(client: &Client, address: SocketAddr) -> Result<Vec<TcpStream>, String> {
    let sends = client.sends.replace("{host}", &address.to_string());
    // Every letter in the table stands for one byte.
    let bytes: Vec<u8> = sends.chars().map(|letter| letter as u8).collect();
    thread::scope(|scope| {
        let threads: Vec<_> = (0..client.count)
            .map(|_| scope.spawn(|| play(client, &bytes, address)))
            .collect();
        let played = threads
            .into_iter()
            .map(|thread| thread.join().expect("it does not panic"));
        let stayed: Result<Vec<_>, String> = played.collect();
        stayed.map(|stayed| stayed.into_iter().flatten().collect())
    })
}

fn play(client: &Client, bytes: &[u8], address: SocketAddr) -> Result<Option<TcpStream>, String> {
    let mut stream = connect(address)?;
    let is_sent = send(client, bytes, &mut stream);
    if client.reads {
        let answer = answer(&mut stream);
        // If a client is refused before it has sent its whole request, the answer may be lost
        // together with the rest of the request.
        let may_be_lost = !is_sent && answer.is_empty();
        if !may_be_lost
            && !client
                .answers
                .iter()
                .any(|wanted| is_answer(wanted, &answer))
        {
            return Err(format!(
                "found the answer {answer:.80?}, need one of {:?}",
                client.answers
            ));
        }
    }
    match client.then {
        Then::Close => Ok(None),
        Then::Stay => Ok(Some(stream)),
        Then::Reset => set_socket_linger(&stream, Some(Duration::ZERO))
            .map(|()| None)
            .map_err(|error| error.to_string()),
    }
}

fn is_answer(wanted: &str, answer: &str) -> bool {
    if wanted.is_empty() {
        answer.is_empty()
    } else {
        answer.starts_with(wanted)
    }
}

fn connect(address: SocketAddr) -> Result<TcpStream, String> {
    let reported = |error: std::io::Error| format!("no connection: {error}");
    let stream = TcpStream::connect_timeout(&address, SERVED_AGAIN_WITHIN).map_err(reported)?;
    stream
        .set_read_timeout(Some(SERVED_AGAIN_WITHIN))
        .and_then(|()| stream.set_write_timeout(Some(Duration::from_secs(1))))
        .map_err(reported)?;
    Ok(stream)
}

/// Sends the bytes of a client. Returns true if the program accepted all of them.
fn send(client: &Client, bytes: &[u8], stream: &mut TcpStream) -> bool {
    let Some(pause) = client.every_ms.map(Duration::from_millis) else {
        return (0..client.repeat).all(|_| stream.write_all(bytes).is_ok());
    };
    bytes.iter().all(|byte| {
        thread::sleep(pause);
        stream.write_all(&[*byte]).is_ok()
    })
}

fn answer(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    let _ = stream.take(1 << 20).read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

/// Checks that a well-behaved client is served in time.
fn is_served(address: SocketAddr) -> Result<(), String> {
    let start = Instant::now();
    let mut last = String::new();
    while start.elapsed() < SERVED_AGAIN_WITHIN {
        let mut stream = connect(address)?;
        let fields = format!("Host: {address}\r\nAccept: application/openmetrics-text\r\n");
        let _ = write!(stream, "GET /metrics HTTP/1.1\r\n{fields}\r\n");
        last = answer(&mut stream);
        if last.starts_with("HTTP/1.1 200 ") && last.trim_end().ends_with("# EOF") {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(100));
    }
    Err(format!("no client is served any more: {last:.80?}"))
}

/// Returns the program's resident memory in KiB, its number of file descriptors, and its number of
/// threads.
fn used(running: &Running<'_>) -> (u64, usize, usize) {
    let folder = format!("/proc/{}", running.child.id());
    let status = fs::read_to_string(format!("{folder}/status")).unwrap_or_default();
    let memory = status.lines().find_map(|line| {
        line.strip_prefix("VmRSS:")?
            .trim()
            .strip_suffix(" kB")?
            .parse()
            .ok()
    });
    let count = |name: &str| fs::read_dir(format!("{folder}/{name}")).map_or(0, Iterator::count);
    (memory.unwrap_or(0), count("fd"), count("task"))
}

/// Checks that the program soon uses little memory, and no more file descriptors and threads than
/// before the clients.
fn is_small_again(running: &Running<'_>, before: &(u64, usize, usize)) -> Result<(), String> {
    let start = Instant::now();
    loop {
        let (memory, descriptors, threads) = used(running);
        if memory < MOST_MEMORY_KIB && descriptors <= before.1 && threads <= before.2 {
            return Ok(());
        }
        if start.elapsed() > SERVED_AGAIN_WITHIN {
            return Err(format!(
                "found {memory} KiB, {descriptors} descriptors and {threads} threads when all had gone, need what it had before: {before:?}"
            ));
        }
        thread::sleep(Duration::from_millis(50));
    }
}

/// Ends the program by a signal, and checks that it ends in time and writes a record that can be
/// read.
fn end(place: &Place, running: Running<'_>) -> Result<(), String> {
    kill_process(Pid::from_child(&running.child), Signal::TERM)
        .map_err(|error| error.to_string())?;
    let ran = running.end(ENDS_WITHIN);
    judge::is_orderly(&ran)?;
    if ran.code() != Some(143) {
        return Err(format!("need the end by SIGTERM: {}", ran.reported()));
    }
    judge::is_tidy(place, &place.bystander()?)?;
    let words = ["report", "{made}/run.json"].map(str::to_owned);
    let read = Run::new(place, &words).whole();
    if matches!(read.code(), Some(0 | 3)) {
        Ok(())
    } else {
        Err(format!("the record cannot be read: {}", read.reported()))
    }
}
