//! Two processes that exchange messages, as if one were a file server and the other its client.
//!
//! The client asks for blocks of a file and checks what comes; the server finds the block, copies it and answers. Each
//! message costs either side a few thousand instructions, and the data of both is 0.6 MB, as in the paper.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};

use rand::Rng;

use crate::set::{Inputs, PrepareError, Program};

/// First argument with which the program plays this pair instead of itself.
pub const PINGPONG_ARGUMENT: &str = "play-pingpong";
const SERVER: &str = "server";

const BLOCK_BYTES: usize = 2048;
const BLOCKS: usize = 256;
/// Blocks that the client goes round: what is asked for again and again.
const WANTED: usize = 32;

pub(crate) fn prepare(inputs: &mut Inputs<'_>, switchcost: &Path) -> Result<Program, PrepareError> {
    let folder = inputs.folder("pingpong")?;
    let seed = inputs.random.random::<u32>().to_string();
    let arguments = vec![switchcost.into(), PINGPONG_ARGUMENT.into(), seed.into()];
    Ok(Program { name: "pingpong", arguments, folder })
}

/// Plays the pair until the other end is gone. `words` are the arguments behind [`PINGPONG_ARGUMENT`]: a seed, and for
/// the second process the word `server`.
///
/// # Errors
/// Where the second process cannot be started or the socket fails.
pub fn pingpong(words: &[String]) -> io::Result<()> {
    let seed = words.first().and_then(|word| word.parse().ok()).unwrap_or(1_u32);
    if words.get(1).is_some_and(|word| word == SERVER) {
        return serve(seed, io::stdin().lock(), io::stdout().lock());
    }
    let (mut ours, theirs) = UnixStream::pair()?;
    let input: std::os::fd::OwnedFd = theirs.try_clone()?.into();
    let output: std::os::fd::OwnedFd = theirs.into();
    let mut server = Command::new(std::env::current_exe()?)
        .args([PINGPONG_ARGUMENT, &seed.to_string(), SERVER])
        .stdin(Stdio::from(input))
        .stdout(Stdio::from(output))
        .spawn()?;
    let outcome = ask(seed, &mut ours);
    drop(ours);
    server.wait()?;
    outcome
}

/// The client: asks for one block after another.
fn ask(seed: u32, server: &mut (impl Read + Write)) -> io::Result<()> {
    let mut block = [0_u8; BLOCK_BYTES];
    let mut wanted = seed as usize % BLOCKS;
    let first = wanted;
    let mut sum = 0_u64;
    loop {
        server.write_all(&(wanted as u32).to_le_bytes())?;
        server.read_exact(&mut block)?;
        sum = sum.wrapping_add(checksum(&block));
        wanted = first + (wanted + 1 + (sum as usize & 1) - first) % WANTED;
    }
}

/// The server: a table of blocks, one copied out for each request.
fn serve(seed: u32, mut requests: impl Read, mut answers: impl Write) -> io::Result<()> {
    let mut blocks: Vec<u8> = (0..BLOCKS * BLOCK_BYTES).map(|byte| (byte as u32).wrapping_mul(seed) as u8).collect();
    let mut request = [0_u8; 4];
    let mut answer = [0_u8; BLOCK_BYTES];
    loop {
        match requests.read_exact(&mut request) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            other => other?,
        }
        let start = u32::from_le_bytes(request) as usize % BLOCKS * BLOCK_BYTES;
        let block = &mut blocks[start..start + BLOCK_BYTES];
        block[0] = block[0].wrapping_add(1);
        answer.copy_from_slice(block);
        let sum = checksum(&answer);
        answer[BLOCK_BYTES - 1] = sum as u8;
        answers.write_all(&answer)?;
        answers.flush()?;
    }
}

/// Fletcher's sum, byte by byte.
fn checksum(bytes: &[u8]) -> u64 {
    let (mut low, mut high) = (1_u32, 0_u32);
    for &byte in bytes {
        low = (low + u32::from(byte)) % 65_521;
        high = (high + low) % 65_521;
    }
    u64::from(high) << 32 | u64::from(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_each_request_with_its_block() {
        let mut answers = Vec::new();
        let requests: Vec<u8> = [3_u32, 3, 7].iter().flat_map(|block| block.to_le_bytes()).collect();
        serve(5, requests.as_slice(), &mut answers).expect("memory does not fail");
        assert_eq!(answers.len(), 3 * BLOCK_BYTES);
        let (first, second) = (&answers[..BLOCK_BYTES], &answers[BLOCK_BYTES..2 * BLOCK_BYTES]);
        assert_eq!(second[0], first[0].wrapping_add(1), "the server's block is written to");
        assert_eq!(first[1..BLOCK_BYTES - 1], second[1..BLOCK_BYTES - 1]);
    }
}
