//! Serves one repetition exactly as the program does, and nothing else: the timed code, linked
//! without the rest of the program. A test of the compiler's output
//! (`switchcost/tests/it/emitted_code.rs`) examines the code.

fn main() -> std::io::Result<()> {
    switchcost_measure::serve(std::io::stdin().lock(), std::io::stdout().lock())
}
