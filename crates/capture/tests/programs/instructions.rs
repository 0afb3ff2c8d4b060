//! Tests instructions that Valgrind executes differently than the machine, or not at all.

use std::sync::atomic::AtomicBool;

use switchcost_capture::{Command, Summary};
use switchcost_trace::{Chunk, Reference, TraceReader};

use super::support::{assert_only_warning, code, compiled_with, options, recorded, signal};

/// Traces an assembly program without a library, so that every reference is its own.
fn traced(name: &str, source: &str) -> (Summary, Vec<Reference>) {
    let program = compiled_with(name, source, &["-nostdlib", "-static"]);
    let (summary, trace) = recorded(
        &[Command::new([&program])],
        options(),
        &AtomicBool::new(false),
    );
    let mut reader = TraceReader::new(&trace[..]).expect("a trace");
    let (mut references, mut chunk) = (Vec::new(), Chunk::default());
    while reader.next_into(&mut chunk).expect("a whole trace") {
        references.append(&mut chunk.references);
    }
    (summary, references)
}

/// Program with 1,000 gathers of eight lanes, four of which are on, and of four lanes, two of which
/// are on: a loop that Valgrind also unrolls.
const GATHERS: &str = r#"
__asm__(".globl _start\n"
"_start: mov $1000, %ecx\n lea table(%rip), %rdx\n"
"1: vpcmpeqd %ymm1, %ymm1, %ymm1\n vpslldq $8, %ymm1, %ymm1\n vpxor %ymm2, %ymm2, %ymm2\n"
" vpgatherdd %ymm1, (%rdx,%ymm2,4), %ymm3\n"
" vpcmpeqd %ymm1, %ymm1, %ymm1\n vpslldq $8, %ymm1, %ymm1\n"
" vgatherqpd %ymm1, (%rdx,%ymm2,8), %ymm3\n"
" dec %ecx\n jnz 1b\n mov $231, %eax\n xor %edi, %edi\n syscall\n"
".bss\n.balign 64\ntable: .space 4096\n");
"#;

#[test]
fn lanes_of_a_gather_that_are_off_load_nothing() {
    if !std::arch::is_x86_feature_detected!("avx2") {
        eprintln!("skipped: this processor has no AVX2");
        return;
    }
    let (summary, references) = traced("gathers", GATHERS);
    assert_eq!(code(&summary, 0), Some(0));
    let of = |bytes| {
        references
            .iter()
            .filter(|reference| reference.bytes() == bytes)
            .count()
    };
    assert_eq!((of(4), of(8), references.len()), (4_000, 2_000, 6_000));
    let table = references[0].address();
    assert!(
        references
            .iter()
            .all(|reference| reference.address() == table && !reference.is_store())
    );
}

/// Program that executes `vmovdqa32 %zmm0, %zmm1`.
const AVX_512: &str = "__asm__(\".globl _start\\n_start: .byte 0x62, 0xf1, 0x7d, 0x48, 0x6f, 0xc8\\n mov $231, %eax\\n syscall\");";

#[test]
fn an_instruction_of_avx_512_is_reported_as_one_that_valgrind_lacks() {
    let (summary, _) = traced("avx_512", AVX_512);
    const SIGILL: i32 = 4;
    let signal = signal(&summary, 0);
    assert_eq!(signal, Some(SIGILL));
    assert_only_warning(
        &summary,
        "executed an AVX-512 instruction (62 f1 7d 48 6f c8",
    );
}
