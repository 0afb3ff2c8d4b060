//! Tests the dependences of loads, by programs whose chains of loads have a known length.

use std::io::Cursor;
use std::sync::atomic::AtomicBool;

use switchcost_capture::Command;
use switchcost_trace::{Chunk, DataFlow, Event, TraceReader, dependences};

use super::support::{compiled_with, options, recorded};

/// Start of each program. There is no library, so the programs have no other chains of loads.
/// `build` uses no loaded value as an address.
const START: &str = r#"
#define N 1000
struct node { struct node *next; long key; const char *string; };
struct node nodes[1024];
struct node *heads[256];
long table[N], indices[N];
struct pair { struct pair *left, *right; } pairs[1023];
static unsigned place(unsigned i) { return i * 387 & 1023; }
__attribute__((used)) void build(void)
{
    for (unsigned i = 0; i < 1024; i++) {
        nodes[place(i)].next = &nodes[place(i + 1)];
        nodes[i].string = "abc";
    }
    for (unsigned i = 0; i < N; i++)
        indices[i] = i * 7 % N;
    for (unsigned i = 0; i < 511; i++)
        pairs[i] = (struct pair){&pairs[2 * i + 1], &pairs[2 * i + 2]};
}
__attribute__((used)) void hash(void)
{
    for (unsigned i = 0; i < 1024; i++) {
        nodes[i] = (struct node){heads[i & 255], i, 0};
        heads[i & 255] = &nodes[i];
    }
}
__asm__(".globl _start\n_start: call build\n call kernel\n mov $231, %eax\n xor %edi, %edi\n syscall\n"
"#;

/// Returns the number of loads whose address depends on a load, and the number of loads in the
/// longest chain.
fn chains(name: &str, kernel: &str) -> (u64, u64) {
    let source = format!("{START}\"kernel: {}\\n\");", kernel.replace('\n', "\\n"));
    let flags = ["-nostdlib", "-static", "-fno-pie", "-no-pie"];
    let program = compiled_with(
        name,
        &source,
        &[
            &flags[..],
            &["-fno-stack-protector", "-fcf-protection=none"],
        ]
        .concat(),
    );
    let (_, trace) = recorded(
        &[Command::new([&program])],
        options(),
        &AtomicBool::new(false),
    );
    let known = dependences(&mut Cursor::new(&trace)).expect("a whole trace");
    let mut reader = TraceReader::new(&trace[..]).expect("a trace");
    let (mut flow, mut chunk) = (DataFlow::default(), Chunk::default());
    let (mut dependent, mut longest) = (0, 0);
    while reader.next_into(&mut chunk).expect("a whole trace") {
        for event in chunk.events() {
            match event {
                Event::Mark(mark) => flow.mark(mark),
                Event::Block(block, references) => flow.follow(
                    &known,
                    block,
                    references,
                    |reference, address, stored: u64| {
                        if reference.is_store() {
                            return 0;
                        }
                        let address = address.expect("known");
                        dependent += u64::from(address > 0);
                        let length = address.max(stored) + 1;
                        longest = longest.max(length);
                        length
                    },
                ),
            }
        }
    }
    (dependent, longest)
}

#[test]
fn a_chase_is_one_chain() {
    let kernel =
        "mov $nodes, %edi\n mov $1000, %ecx\n 1: mov (%rdi), %rdi\n dec %ecx\n jnz 1b\n ret";
    assert_eq!(chains("chase", kernel), (999, 1000));
}

#[test]
fn a_chase_through_a_spilled_pointer_goes_through_memory() {
    let kernel = "mov $nodes, %edi\n mov $1000, %ecx\n 1: mov (%rdi), %rax\n mov %rax, -8(%rsp)\n xor %eax, %eax\n \
                  mov -8(%rsp), %rdi\n dec %ecx\n jnz 1b\n ret";
    assert_eq!(chains("spilled", kernel), (999, 2000));
}

#[test]
fn two_interleaved_chases_are_two_chains_of_half_the_length() {
    let kernel = "mov $nodes, %edi\n mov $nodes+480, %esi\n mov $500, %ecx\n 1: mov (%rdi), %rdi\n mov (%rsi), %rsi\n \
                  dec %ecx\n jnz 1b\n ret";
    assert_eq!(chains("two-chases", kernel), (998, 500));
}

#[test]
fn an_index_array_has_chains_of_two() {
    let kernel = "mov $1000, %ecx\n 1: mov indices-8(,%rcx,8), %rax\n add table(,%rax,8), %rdx\n dec %rcx\n jnz 1b\n ret";
    assert_eq!(chains("indices", kernel), (1000, 2));
}

#[test]
fn a_sum_over_an_array_has_no_chain() {
    let kernel = "mov $1000, %ecx\n 1: add table-8(,%rcx,8), %rax\n dec %rcx\n jnz 1b\n ret";
    assert_eq!(chains("sum", kernel), (0, 1));
}

#[test]
fn the_strings_of_a_list_hang_on_its_nodes() {
    // Per node: the string's address, its four bytes, the next node. Only the first node's address comes from no load.
    let kernel = "mov $nodes, %edi\n mov $1000, %ecx\n 1: mov 16(%rdi), %rsi\n 2: movzbl (%rsi), %eax\n inc %rsi\n test %al, %al\n \
                  jnz 2b\n mov (%rdi), %rdi\n dec %ecx\n jnz 1b\n ret";
    assert_eq!(chains("strings", kernel), (6 * 1000 - 2, 1000 + 1));
}

#[test]
fn a_hash_look_up_begins_a_chain_for_each_key() {
    // Four nodes a bucket, the last key first: the key at place p needs the head, p next nodes, and p + 1 keys.
    let kernel = "call hash\n xor %ecx, %ecx\n 1: movzbl %cl, %eax\n mov heads(,%rax,8), %rdi\n 2: cmp %rcx, 8(%rdi)\n je 3f\n \
                  mov (%rdi), %rdi\n jmp 2b\n 3: inc %ecx\n cmp $1024, %ecx\n jne 1b\n ret";
    assert_eq!(chains("hash", kernel), (256 * (1 + 3 + 5 + 7), 5));
}

#[test]
fn a_recursive_walk_of_a_tree_has_chains_through_the_stack() {
    // Ten levels. A left child is a load after its parent; a right child two, since the parent was saved and loaded again.
    let kernel = "xor %ebx, %ebx\n mov $pairs, %edi\n visit: push %rbx\n mov %rdi, %rbx\n mov (%rbx), %rdi\n test %rdi, %rdi\n \
                  jz 1f\n call visit\n 1: mov 8(%rbx), %rdi\n test %rdi, %rdi\n jz 2f\n call visit\n 2: pop %rbx\n ret";
    assert_eq!(chains("tree", kernel), (2 * 1023 - 1, 2 * 9 + 1));
}
