//! Loads vector registers by XRSTOR on x86-64.

use std::arch::asm;
use std::sync::atomic::Ordering::Relaxed;

use raw_cpuid::CpuId;
use switchcost_record::VectorState;
use switchcost_units::Bytes;
use switchcost_workload::Pages;

use crate::memory::{MapType, Memory};

/// Bits of the XSAVE components (Intel, Software Developer's Manual, volume 1, section 13.1).
const SSE: u64 = 1 << 1;
const AVX: u64 = 1 << 2;
const AVX_512: u64 = 0b111 << 5;
const TILE_CONFIG: u32 = 17;
const TILE_DATA: u32 = 18;
const AMX: u64 = 1 << TILE_CONFIG | 1 << TILE_DATA;

/// Length of the legacy region in bytes, which holds MXCSR and the XMM registers. The header
/// follows; its first word has a bit for each component that is present.
const LEGACY_BYTES: u64 = 512;
const MXCSR: usize = 24 / 8;
const XMM: std::ops::Range<usize> = 160 / 8..416 / 8;
const HEADER: usize = 512 / 8;
/// Value of MXCSR with all exceptions masked, as at the start of a program.
const USUAL_MXCSR: u64 = 0x1f80;
/// Value loaded into the registers: the double 1. With zeros, the state might count as the initial
/// one.
const FILLING: u64 = 0x3ff0_0000_0000_0000;

fn components(state: VectorState) -> u64 {
    match state {
        VectorState::Init => 0,
        VectorState::Sse => SSE,
        VectorState::Avx => SSE | AVX,
        VectorState::Avx512 => SSE | AVX | AVX_512,
        VectorState::Amx => SSE | AVX | AVX_512 | AMX,
    }
}

/// Number of a component, its offset after the header, and its size, both in bytes.
type Place = (u32, usize, usize);

/// Returns the extended components that the kernel lets programs use; `None` without XSAVE, or if
/// XINUSE cannot be read.
fn places() -> Option<Vec<Place>> {
    if !std::arch::is_x86_feature_detected!("xsave") {
        return None;
    }
    let leaves = CpuId::new()
        .get_extended_state_info()
        .filter(|leaves| leaves.has_xgetbv())?;
    let enabled = extended_control(0);
    let place = |number: u32| {
        let found = leaves.iter().find(|one| one.subleaf == number)?;
        Some((number, found.offset() as usize, found.size() as usize))
    };
    Some(
        (2..32)
            .filter(|number| enabled >> number & 1 == 1)
            .filter_map(place)
            .collect(),
    )
}

/// Returns the number of bytes that XSAVE writes in a state; `None` if the state is not available.
pub(super) fn xsave_bytes(state: VectorState) -> Option<Bytes> {
    let (wanted, places) = (components(state), places()?);
    let there = places
        .iter()
        .fold(SSE, |there, (number, ..)| there | 1 << number);
    let legacy = if wanted & SSE == 0 { 0 } else { LEGACY_BYTES };
    let wanted_sizes = places
        .iter()
        .filter(|(number, ..)| wanted >> number & 1 == 1)
        .map(|(.., size)| *size as u64);
    (wanted & !there == 0).then(|| Bytes(legacy + wanted_sizes.sum::<u64>()))
}

/// Reads an extended control register. Number 0 is XCR0; number 1 gives the components of XCR0 that
/// are in use.
#[inline(always)]
fn extended_control(number: u32) -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: reads a register into two others; where this is asked for, CPUID has said that it may be.
    unsafe {
        asm!("xgetbv", in("ecx") number, out("eax") low, out("edx") high, options(nomem, nostack, preserves_flags))
    };
    u64::from(high) << 32 | u64::from(low)
}

/// Area in memory from which the registers are loaded.
pub(super) struct Area {
    memory: Memory,
    wanted: u64,
    /// Components that loading sets or initialises: always the vector registers, and the tiles only
    /// if requested.
    touched: u64,
}

impl Area {
    pub(super) fn new(state: VectorState) -> Result<Area, String> {
        let missing = || {
            format!(
                "this processor or kernel has no --vector-state {state}; lscpu lists what it has"
            )
        };
        xsave_bytes(state).ok_or_else(missing)?;
        let (wanted, places) = (components(state), places().ok_or_else(missing)?);
        if wanted & AMX != 0 {
            allow_tiles().map_err(|error| {
                format!("the kernel does not allow tiles for --vector-state {state} ({error})")
            })?;
        }
        let end = places
            .iter()
            .map(|(_, offset, size)| offset + size)
            .max()
            .unwrap_or(0)
            .max(HEADER * 8 + 64);
        let memory = Memory::map(Bytes(end as u64), MapType::Private, Pages::Base)
            .map_err(|error| error.to_string())?;
        fill(&memory, wanted, &places);
        let touched = extended_control(0) & (SSE | AVX | AVX_512) | wanted;
        Ok(Area {
            memory,
            wanted,
            touched,
        })
    }

    #[inline(always)]
    pub(super) fn load(&self) {
        // SAFETY: the area is as long as CPUID says, on a page of its own, its header names components that XCR0 has, MXCSR has no
        // reserved bit; all vector registers are named as changed, and the x87 registers are not touched.
        unsafe {
            asm!(
                "xrstor64 [{area}]",
                area = in(reg) self.memory.as_ptr(),
                in("eax") self.touched as u32,
                in("edx") (self.touched >> 32) as u32,
                clobber_abi("sysv64"),
                options(nostack),
            );
        };
    }

    pub(super) fn is_in_use(&self) -> bool {
        extended_control(1) & self.wanted == self.wanted
    }

    /// Returns the components in use if they differ from the loaded ones; otherwise `None`. XMM
    /// registers may always count as used.
    pub(super) fn unexpected(&self) -> Option<u64> {
        let in_use = extended_control(1);
        let beyond = in_use & self.touched & !SSE;
        (!self.is_in_use() || beyond != self.wanted & !SSE).then_some(in_use)
    }
}

fn fill(memory: &Memory, wanted: u64, places: &[Place]) {
    let fill = |words: std::ops::Range<usize>| {
        memory[words]
            .iter()
            .for_each(|word| word.store(FILLING, Relaxed))
    };
    fill(XMM);
    memory[MXCSR].store(USUAL_MXCSR, Relaxed);
    memory[HEADER].store(wanted, Relaxed);
    let wanted_places = places
        .iter()
        .filter(|(number, ..)| wanted >> number & 1 == 1);
    for (number, offset, size) in wanted_places {
        if *number == TILE_CONFIG {
            let words = offset / 8..;
            memory[words]
                .iter()
                .zip(tile_config())
                .for_each(|(word, value)| word.store(value, Relaxed));
        } else {
            fill(offset / 8..(offset + size) / 8);
        }
    }
}

/// Returns the tile configuration of palette 1: eight tiles of 16 rows of 64 bytes.
fn tile_config() -> [u64; 8] {
    const ROW_BYTES: u64 = 0x0040_0040_0040_0040;
    const ROWS: u64 = 0x1010_1010_1010_1010;
    [1, 0, ROW_BYTES, ROW_BYTES, 0, 0, ROWS, 0]
}

/// Asks Linux for permission to use tiles, which it requires before the first use
/// (Documentation/arch/x86/xstate.rst).
fn allow_tiles() -> std::io::Result<()> {
    const ARCH_REQ_XCOMP_PERM: libc::c_ulong = 0x1023;
    // SAFETY: takes two numbers, and changes what this process may use.
    let done = unsafe {
        libc::syscall(
            libc::SYS_arch_prctl,
            ARCH_REQ_XCOMP_PERM,
            libc::c_ulong::from(TILE_DATA),
        )
    };
    if done == 0 {
        Ok(())
    } else {
        Err(std::io::Error::last_os_error())
    }
}
