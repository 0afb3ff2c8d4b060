//! What was counted so far, for Prometheus: `GET /metrics`, and nothing else.

use std::net::SocketAddr;

use observation::Observation;
use observe::NoBpf;
use report::observe::{Scraped, metrics};
use tiny_http::{Header, Method, Request, Response, Server};

use crate::exit::Failure;
use crate::messages::say;

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

pub(super) struct Exporter {
    server: Server,
    /// Those that have a label of their own.
    scraped: Scraped,
}

impl Exporter {
    pub(super) fn listen(address: SocketAddr) -> Result<Exporter, Failure> {
        let server = Server::http(address).map_err(|error| Failure::Listen { address, why: error.to_string() })?;
        say!("metrics: http://{}/metrics", server.server_addr());
        Ok(Exporter { server, scraped: Scraped::default() })
    }

    /// Answers whoever has asked meanwhile. Who goes away before the answer does not matter.
    pub(super) fn answer(&mut self, mut so_far: impl FnMut() -> Result<Observation, NoBpf>) {
        while let Ok(Some(request)) = self.server.try_recv() {
            let _ = match (request.method(), request.url()) {
                (Method::Get, "/metrics") => self.show(request, &mut so_far),
                (Method::Get, _) => request.respond(Response::from_string("see /metrics\n").with_status_code(404)),
                _ => request.respond(Response::from_string("only GET\n").with_status_code(405)),
            };
        }
    }

    fn show(
        &mut self,
        request: Request,
        so_far: &mut impl FnMut() -> Result<Observation, NoBpf>,
    ) -> std::io::Result<()> {
        let text = match so_far() {
            Ok(observation) => metrics(&observation, &analysis::observation::analyse(&observation), &mut self.scraped),
            Err(why) => return request.respond(Response::from_string(format!("{why}\n")).with_status_code(500)),
        };
        let kind = Header::from_bytes("Content-Type", OPEN_METRICS).map_err(|()| std::io::ErrorKind::InvalidInput)?;
        request.respond(Response::from_string(text).with_header(kind))
    }
}
