use super::*;
use crate::{AddressKind, Holds, Inclusion, OnSwitch, Ways, WriteBuffers, WritePolicy};
use switchcost_units::Bytes;

#[test]
fn each_is_sound_named_and_sourced() {
    for name in names() {
        let text = text(name).expect("a listed name");
        let design = read_design(text, name).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(design.name, name);
        assert!(
            design.title.len() > 20 && !design.title.contains('\n'),
            "{name}: {}",
            design.title
        );
        assert!(design.source.len() > 60, "{name}: {}", design.source);
        assert_eq!(find(name), Some(design));
    }
    assert_eq!(find("no-such"), None);
}

#[test]
fn each_file_of_the_folder_is_shipped() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../designs");
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .expect("the folder of designs")
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .into_string()
                .expect("UTF-8")
        })
        .filter_map(|file| file.strip_suffix(".toml").map(str::to_owned))
        .collect();
    let mut listed: Vec<String> = names().map(str::to_owned).collect();
    files.sort();
    listed.sort();
    assert_eq!(files, listed);
}

#[test]
fn each_has_the_lines_and_entries_of_its_source() {
    let known: [(&str, &[u64], &[u32]); 10] = [
        ("mogul-1a", &[4096, 4096], &[]),
        ("mogul-1b", &[16384, 16384], &[]),
        ("mogul-2a", &[128, 128, 4096], &[]),
        ("mogul-2b", &[512, 512, 16384], &[]),
        ("li2007-xeon", &[256, 128, 4096], &[128, 64]),
        (
            "michigan-xeon-d1541",
            &[512, 512, 4096, 196_608],
            &[128, 64, 1536],
        ),
        (
            "blog-i7-9850h",
            &[512, 512, 4096, 196_608],
            &[128, 64, 1536],
        ),
        (
            "zen4-epyc-9004",
            &[512, 512, 16384, 524_288],
            &[64, 72, 512, 3072],
        ),
        (
            "xeon-sapphire-rapids",
            &[512, 768, 32768, 1_720_320],
            &[256, 96, 2048],
        ),
        ("plain-lru", &[512, 512, 16384], &[]),
    ];
    for ((name, lines, entries), listed) in known.into_iter().zip(names()) {
        assert_eq!(name, listed);
        let design = find(name).expect("shipped");
        let found: Vec<u64> = design.levels.iter().map(crate::Level::lines).collect();
        assert_eq!(found, lines, "{name}");
        let found: Vec<u32> = design.tlbs.iter().map(|tlb| tlb.entries).collect();
        assert_eq!(found, entries, "{name}");
    }
}

/// Compares the four designs of Mogul and Borg with Table 3 of the paper, line by line.
#[test]
fn the_four_of_mogul_and_borg_are_those_of_table_3() {
    let rows = [
        ("mogul-1a", 64, 15, 6, None, [40.0, 40.0]),
        ("mogul-1b", 256, 15, 6, None, [40.0, 40.0]),
        ("mogul-2a", 2, 13, 4, Some(512), [2.0, 4.0]),
        ("mogul-2b", 8, 13, 4, Some(2048), [2.0, 4.0]),
    ];
    for (name, first_kib, first_miss, buffers, second_kib, cycle_ns) in rows {
        let design = find(name).expect("shipped");
        assert_eq!(design.cycle_ns, Some(cycle_ns));
        assert_eq!(design.levels.len(), 2 + usize::from(second_kib.is_some()));
        let holds = [Holds::Instructions, Holds::Data];
        for (level, holds) in design.levels.iter().zip(holds) {
            assert_eq!(
                (level.holds, level.size, level.line),
                (holds, Bytes::kib(first_kib), Bytes(16)),
                "{name}"
            );
            assert_eq!(
                (level.ways, level.hit_cycles, level.miss_cycles),
                (Ways::Count(1), 0, first_miss),
                "{name}"
            );
            assert_eq!(
                (level.tag, level.on_switch),
                (AddressKind::Virtual, OnSwitch::Keep)
            );
        }
        let data = &design.levels[1];
        assert_eq!(
            (data.write, data.allocates_on_write()),
            (WritePolicy::Through, false)
        );
        assert_eq!(
            data.write_buffers,
            Some(WriteBuffers {
                count: buffers,
                drain_cycles: 5
            })
        );
        let Some(kib) = second_kib else { continue };
        let second = &design.levels[2];
        assert_eq!(
            (second.holds, second.size, second.line),
            (Holds::Both, Bytes::kib(kib), Bytes(128))
        );
        assert_eq!(
            (second.ways, second.write),
            (Ways::Count(1), WritePolicy::Back)
        );
        assert_eq!(
            (second.hit_cycles, second.miss_cycles, second.inclusion),
            (0, 200, Inclusion::Neither)
        );
    }
}

#[test]
fn the_example_of_the_documentation_is_read() {
    let example = include_str!("../../../../docs/formats/design-example.toml");
    let design = read_design(example, "docs/formats/design-example.toml")
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((design.levels.len(), design.tlbs.len()), (3, 3));
}

#[test]
fn the_documentation_lists_each_shipped_design() {
    let page = include_str!("../../../../docs/formats/design.md");
    for name in names() {
        assert!(page.contains(&format!("`{name}`")), "{name}");
    }
}
