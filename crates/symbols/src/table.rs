//! Symbols with their sizes, because an address after the end of a symbol does not belong to it. A
//! stripped file has few symbols, so the nearest symbol before an address is usually not the right
//! one.

use std::collections::BTreeMap;

use object::read::{Object, ObjectSymbol, ReadRef};
use object::{File, SymbolKind};

/// Functions and variables of a file by address, before relocation.
#[derive(Debug, Default)]
pub(crate) struct Table {
    /// Size and name of each symbol in the file, by address. A symbol with size 0, such as a
    /// function in assembler, extends to the next symbol.
    symbols: BTreeMap<u64, (u64, String)>,
}

impl Table {
    /// Reads both symbol tables of a file. If an address has several names, the first name with a
    /// size is used.
    pub(crate) fn read<'data>(file: &File<'data, impl ReadRef<'data>>) -> Table {
        let mut symbols: BTreeMap<u64, (u64, String)> = BTreeMap::new();
        for symbol in file.symbols().chain(file.dynamic_symbols()) {
            let is_kept = symbol.is_definition()
                && matches!(symbol.kind(), SymbolKind::Text | SymbolKind::Data);
            let Some(name) = symbol
                .name()
                .ok()
                .filter(|name| is_kept && !name.is_empty())
            else {
                continue;
            };
            let entry = symbols
                .entry(symbol.address())
                .or_insert_with(|| (symbol.size(), name.to_owned()));
            if entry.0 == 0 && symbol.size() > 0 {
                *entry = (symbol.size(), name.to_owned());
            }
        }
        Table { symbols }
    }

    /// Returns the demangled name of the symbol that contains an address; `None` if there is none.
    pub(crate) fn symbol_at(&self, address: u64) -> Option<String> {
        let (start, (size, name)) = self.symbols.range(..=address).next_back()?;
        let is_inside = *size == 0 || address - start < *size;
        is_inside.then(|| addr2line::demangle_auto(name.into(), None).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn behind_the_end_of_a_symbol_is_none() {
        let symbols = [
            (0x1000, (0x10, "main".to_owned())),
            (0x2000, (0, "in_assembler".to_owned())),
        ];
        let table = Table {
            symbols: symbols.into(),
        };
        let found =
            [0xfff, 0x1000, 0x100f, 0x1010, 0x2000, 0x9000].map(|address| table.symbol_at(address));
        assert_eq!(
            found.map(|name| name.unwrap_or_default()),
            ["", "main", "main", "", "in_assembler", "in_assembler"]
        );
    }
}
