//! Tests random code that no compiler would generate, which reads registers and flags wherever they
//! were left. The program must compute the same as without tracing, although Valgrind removes
//! results that it finds unused.

use std::ops::Range;

use rand::prelude::*;
use rand_chacha::ChaCha8Rng;
use switchcost_capture::Order;

use super::long::{assert_runs_as_cachegrind_counts, program_of};

/// Number of rounds, at least twice the number after which code is translated again.
const ROUNDS: u32 = 8_000_000;

const REGISTERS: [[&str; 4]; 10] = [
    ["rax", "eax", "ax", "al"],
    ["rbx", "ebx", "bx", "bl"],
    ["rcx", "ecx", "cx", "cl"],
    ["rdx", "edx", "dx", "dl"],
    ["rsi", "esi", "si", "sil"],
    ["rdi", "edi", "di", "dil"],
    ["r8", "r8d", "r8w", "r8b"],
    ["r9", "r9d", "r9w", "r9b"],
    ["r10", "r10d", "r10w", "r10b"],
    ["r11", "r11d", "r11w", "r11b"],
];
const SUFFIXES: [char; 4] = ['q', 'l', 'w', 'b'];
const BYTE: usize = 3;
const CONDITIONS: [&str; 16] = [
    "o", "no", "b", "ae", "e", "ne", "be", "a", "s", "ns", "p", "np", "l", "ge", "le", "g",
];

/// Generator of instruction blocks with defined results. `r12` counts the remaining rounds, `r13`
/// points to memory, `r14` is an index into the memory.
struct Writer {
    dice: ChaCha8Rng,
    lines: Vec<String>,
}

impl Writer {
    fn one<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from.choose(&mut self.dice).expect("there is one")
    }

    fn register(&mut self, width: usize) -> &'static str {
        REGISTERS.choose(&mut self.dice).expect("there is one")[width]
    }

    fn line(&mut self, text: impl Into<String>) {
        self.lines.push(text.into());
    }

    fn place(&mut self) -> String {
        format!("{}(%r13)", 8 * self.dice.random_range(0..32))
    }

    fn place_or_element(&mut self) -> String {
        if self.dice.random() {
            return self.place();
        }
        let index = self.register(BYTE);
        self.line(format!("movzbl %{index}, %r14d"));
        "(%r13,%r14,8)".to_owned()
    }

    fn vector(&mut self) {
        let (to, from) = (self.dice.random_range(0..4), self.dice.random_range(0..4));
        let (register, place) = (self.register(0), self.place());
        let text = match self.dice.random_range(0..6) {
            0 => format!("movq %{register}, %xmm{to}"),
            1 => format!("movq %xmm{from}, %{register}"),
            2 => format!("paddq %xmm{from}, %xmm{to}"),
            3 => format!("pshufd $0x4e, %xmm{from}, %xmm{to}"),
            4 => format!("movss %xmm{from}, %xmm{to}"),
            _ => format!("movdqu {place}, %xmm{to}"),
        };
        self.line(text);
    }

    fn arithmetic(&mut self, width: usize) {
        let operation = self.one(&[
            "add", "sub", "adc", "sbb", "xor", "and", "or", "cmp", "test",
        ]);
        let from = if self.dice.random() {
            format!("%{}", self.register(width))
        } else {
            format!("${}", self.dice.random_range(-128..128))
        };
        let to = self.register(width);
        self.line(format!("{operation}{} {from}, %{to}", SUFFIXES[width]));
    }

    fn arithmetic_in_memory(&mut self, width: usize) {
        let operation = self.one(&["add", "sub", "adc", "sbb", "xor", "cmp"]);
        let (register, place, suffix) = (self.register(width), self.place(), SUFFIXES[width]);
        let text = if self.dice.random() {
            format!("{operation}{suffix} %{register}, {place}")
        } else {
            format!("{operation}{suffix} {place}, %{register}")
        };
        self.line(text);
    }

    fn instruction(&mut self) {
        let width = self.dice.random_range(0..SUFFIXES.len());
        let (one, other, suffix) = (self.register(width), self.register(width), SUFFIXES[width]);
        let (whole, byte) = (self.register(0), self.register(BYTE));
        match self.dice.random_range(0..17) {
            0..5 => self.arithmetic(width),
            5 => {
                let operation = self.one(&["inc", "dec", "neg", "not"]);
                self.line(format!("{operation}{suffix} %{one}"));
            }
            6 => {
                let operation = self.one(&["shl", "shr", "sar", "rol", "ror"]);
                self.line(format!("{operation}{suffix} $1, %{one}"));
            }
            7 => {
                let (base, index, offset) = (
                    self.register(0),
                    self.register(0),
                    self.dice.random_range(-99..99),
                );
                self.line(format!("lea {offset}(%{base},%{index},4), %{whole}"));
            }
            8 => self.line(format!("mov{suffix} %{one}, %{other}")),
            9 => {
                let condition = self.one(&CONDITIONS);
                self.line(format!("set{condition} %{byte}"));
            }
            10 => {
                let (condition, from) = (self.one(&CONDITIONS), self.register(0));
                self.line(format!("cmov{condition}q %{from}, %{whole}"));
            }
            11 => {
                let place = self.place_or_element();
                self.line(format!("mov{suffix} {place}, %{one}"));
            }
            12 => {
                let place = self.place_or_element();
                self.line(format!("mov{suffix} %{one}, {place}"));
            }
            13 => self.arithmetic_in_memory(width),
            14 => {
                let operation = self.one(&["stc", "clc", "cmc"]);
                self.line(operation);
            }
            15 => self.vector(),
            // Most of these instructions leave the auxiliary carry undefined.
            _ => ["lahf", "and $0xc5, %ah", "mov %ah, %dl"]
                .into_iter()
                .for_each(|text| self.line(text)),
        }
    }

    /// Adds an `inc` or `dec`, which keeps the carry and changes all other status flags.
    fn keep_carry(&mut self) {
        let width = self.dice.random_range(0..SUFFIXES.len());
        let (operation, register) = (self.one(&["inc", "dec"]), self.register(width));
        self.line(format!("{operation}{} %{register}", SUFFIXES[width]));
    }

    fn use_carry(&mut self) {
        let (operation, register) = (
            self.one(&["adcq $0,", "sbbq $3,", "rclq $1,", "rcrq $1,"]),
            self.register(0),
        );
        self.line(format!("{operation} %{register}"));
    }

    /// Adds code that passes a number through the stack of the floating-point unit, on one of two
    /// paths.
    fn detour(&mut self) {
        let (from, to, condition) = (self.place(), self.place(), self.one(&CONDITIONS));
        self.line(format!("fildl {from}\nj{condition} 3f"));
        self.keep_carry();
        self.line(format!("3: fistpl {to}"));
    }

    /// Adds code that counts a round and leaves the loop after the last one, with or without a
    /// change of the flags.
    fn count(&mut self) {
        let plain: &[&str] = &["subq $1, %r12", "je out"];
        let kept: &[&str] = &[
            "lea -1(%r12), %r12",
            "xchg %r12, %rcx",
            "jrcxz 1f",
            "jmp 2f",
            "1: jmp empty",
            "2: xchg %r12, %rcx",
        ];
        let lines = if self.dice.random() { plain } else { kept };
        lines.iter().for_each(|&text| self.line(text));
    }

    fn block(&mut self, number: i32, blocks: i32) {
        self.line(format!("b{number}:"));
        if self.dice.random_bool(0.3) {
            self.use_carry();
        }
        for _ in 0..self.dice.random_range(0..6) {
            self.instruction();
        }
        if self.dice.random_bool(0.1) {
            self.detour();
        }
        if self.dice.random_bool(0.3) {
            self.keep_carry();
        }
        let near = (number + self.dice.random_range(-3..=3)).clamp(0, blocks - 1);
        let target = if self.dice.random_bool(0.6) {
            near
        } else {
            self.dice.random_range(0..blocks)
        };
        if target <= number {
            self.count();
        }
        let condition = if self.dice.random_bool(0.85) {
            self.one(&CONDITIONS)
        } else {
            "mp"
        };
        self.line(format!("j{condition} b{target}"));
    }

    fn function(&mut self) {
        let saved = ["rbx", "rbp", "r12", "r13", "r14", "r15"];
        let blocks = self.dice.random_range(6..40);
        self.lines
            .extend(saved.map(|register| format!("push %{register}")));
        self.line("mov %rdi, %r12\nlea table(%rip), %r13\nxor %r14d, %r14d");
        for [register, ..] in REGISTERS {
            let start: u64 = self.dice.random();
            self.line(format!("movabs ${start}, %{register}"));
        }
        (0..4).for_each(|vector| self.line(format!("pxor %xmm{vector}, %xmm{vector}")));
        (0..blocks).for_each(|number| self.block(number, blocks));
        self.count();
        self.line("jmp b0\nempty: xchg %r12, %rcx\nout:");
        for (number, [register, ..]) in REGISTERS.into_iter().enumerate() {
            self.line(format!("mov %{register}, {}(%r13)", 3000 + 8 * number));
        }
        (0..4).for_each(|vector| {
            self.line(format!("movdqu %xmm{vector}, {}(%r13)", 3200 + 16 * vector))
        });
        self.lines.extend(
            saved
                .into_iter()
                .rev()
                .map(|register| format!("pop %{register}")),
        );
        self.line("ret");
    }
}

/// Returns the source of the random program of a seed.
fn source(seed: u64) -> String {
    let mut writer = Writer {
        dice: ChaCha8Rng::seed_from_u64(seed),
        lines: Vec::new(),
    };
    writer.function();
    let code: String = writer
        .lines
        .join("\n")
        .lines()
        .map(|line| format!("\"{line}\\n\"\n"))
        .collect();
    format!(
        "unsigned char table[4096];
        void run(unsigned long rounds);
        __asm__(\"run:\\n\"
        {code});
        unsigned long rounds(unsigned long count)
        {{
            unsigned long sum = 0, part, at;
            for (part = 0; part < 40; part++) {{
                run(count / 40);
                for (at = 0; at < sizeof table; at++)
                    sum = sum * 31 + table[at];
            }}
            return sum;
        }}"
    )
}

/// Checks the programs of every second seed. The other programs are checked with another release of
/// Valgrind (scripts/another-valgrind.sh).
fn calculate_what_they_do_without_us(programs: Range<u64>) {
    let is_other = std::env::var_os("SWITCHCOST_TOOL_DIR").is_some();
    for seed in programs.filter(|seed| (seed % 2 == 1) == is_other) {
        let program = program_of(&format!("random-{seed}"), &source(seed));
        assert_runs_as_cachegrind_counts(&program, ROUNDS, [Order::default()]);
    }
}

#[test]
fn code_of_any_kind_calculates_what_it_does_without_us() {
    calculate_what_they_do_without_us(0..4);
}

#[test]
#[ignore = "takes long: make test ARGS=--all"]
fn more_code_of_any_kind_calculates_what_it_does_without_us() {
    calculate_what_they_do_without_us(4..12);
}
