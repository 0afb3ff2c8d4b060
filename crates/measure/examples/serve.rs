//! Serves one repetition, as the program does, and nothing else: the code that is timed, linked without the rest of the program. The
//! test of what the compiler made of it (`switchcost/tests/it/emitted_code.rs`) takes it apart.

fn main() -> std::io::Result<()> {
    switchcost_measure::serve(std::io::stdin().lock(), std::io::stdout().lock())
}
