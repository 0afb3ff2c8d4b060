//! Matches functions of two kernels by their names in the source code.

use crate::simulation::FunctionFinding;

/// Returns the findings with parts and copies of a function (`.constprop.0`, `.isra.0`, `.part.0`,
/// `.cold`) added to the function itself, because compilers split functions differently.
pub(super) fn functions_by_source(functions: &[FunctionFinding]) -> Vec<FunctionFinding> {
    let mut all: Vec<FunctionFinding> = Vec::with_capacity(functions.len());
    for function in functions {
        let name = source_name(&function.function);
        match all.iter_mut().find(|known| known.function == name) {
            Some(known) => add(known, function),
            None => all.push(FunctionFinding {
                function: name.to_owned(),
                ..function.clone()
            }),
        }
    }
    all
}

fn source_name(symbol: &str) -> &str {
    symbol.split_once('.').map_or(symbol, |(name, _)| name)
}

fn add(known: &mut FunctionFinding, part: &FunctionFinding) {
    known.instructions_per_switch += part.instructions_per_switch;
    for (sum, more) in known
        .misses_per_switch
        .iter_mut()
        .zip(&part.misses_per_switch)
    {
        sum.misses += more.misses;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::FunctionMisses;

    #[test]
    fn parts_of_a_function_are_one_under_its_own_name() {
        let part = |name: &str, instructions, misses| FunctionFinding {
            function: name.to_owned(),
            instructions_per_switch: instructions,
            misses_per_switch: vec![FunctionMisses {
                level: "L1I".to_owned(),
                misses,
            }],
        };
        let symbols = [
            part("pick_eevdf", 60.0, 1.0),
            part("dequeue.isra.0", 40.0, 0.5),
            part("pick_eevdf.part.0", 9.0, 0.25),
        ];
        let expected = [part("pick_eevdf", 69.0, 1.25), part("dequeue", 40.0, 0.5)];
        assert_eq!(functions_by_source(&symbols), expected);
    }
}
