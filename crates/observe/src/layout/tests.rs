//! Tests that the layouts and numbers in Rust are those of the BPF program.

use switchcost_record::observation::Why;

use super::btf::Btf;
use super::*;

/// Returns the type information of the BPF program; none in a build without clang, which has no
/// program.
fn program() -> Option<Btf> {
    let object = crate::kernel::OBJECT;
    if object.is_empty() {
        println!("skipped: a build without clang has no program to compare with");
        return None;
    }
    Some(Btf::parse_object(object))
}

#[test]
fn structures_have_the_same_fields_at_the_same_places_on_both_sides() {
    let Some(program) = program() else { return };
    let all = [
        ("cause", size_of::<Cause>(), Cause::FIELDS),
        ("neighbour", size_of::<Neighbour>(), Neighbour::FIELDS),
        ("run", size_of::<Run>(), Run::FIELDS),
        ("share", size_of::<Share>(), Share::FIELDS),
        ("sums", size_of::<Sums>(), Sums::FIELDS),
        ("mark", size_of::<Mark>(), Mark::FIELDS),
        ("marks", size_of::<Marks>(), Marks::FIELDS),
        ("wait", size_of::<Wait>(), Wait::FIELDS),
        ("task", size_of::<Task>(), Task::FIELDS),
        ("cpu", size_of::<Cpu>(), Cpu::FIELDS),
        (
            "in_scheduler",
            size_of::<InScheduler>(),
            InScheduler::FIELDS,
        ),
        ("counted", size_of::<Counted>(), Counted::FIELDS),
        ("counting", size_of::<Counting>(), Counting::FIELDS),
        ("thread", size_of::<Thread>(), Thread::FIELDS),
        ("event", size_of::<Event>(), Event::FIELDS),
    ];
    for (name, size, fields) in all {
        let (theirs, mut of_program) = program.structure(name);
        // The other struct contains both halves again.
        of_program.retain(|(field, ..)| (name, field.as_str()) != ("cause", "key"));
        let ours: Vec<_> = fields
            .iter()
            .map(|&(name, at, size)| (name.to_owned(), at, size))
            .collect();
        assert_eq!((size, ours), (theirs, of_program), "{name}");
    }
}

#[test]
fn words_of_control_are_in_the_same_order() {
    let Some(program) = program() else { return };
    use Control::{All, Count, Generation, Group, Hierarchy, NoCause, NoEvent, NoPair, NoRoom};
    let ours = [
        Generation, All, NoRoom, NoCause, NoPair, NoEvent, Group, Hierarchy,
    ];
    let (size, theirs) = program.structure("control");
    assert_eq!((size, theirs.len()), (8 * Count as usize, ours.len()));
    for ((name, at, size), which) in theirs.into_iter().zip(ours) {
        assert_eq!(
            (name.replace('_', ""), at, size),
            (format!("{which:?}").to_lowercase(), 8 * which as usize, 8)
        );
    }
}

#[test]
fn enumerators_are_the_same() {
    let Some(program) = program() else { return };
    let in_c = |why: Why| {
        format!(
            "REASON_{}",
            why.to_string().to_uppercase().replace('-', "_")
        )
    };
    assert_eq!(
        program.enumeration("reason"),
        Why::variants().map(|why| (in_c(why), why as u32)).collect()
    );
    let all = [
        ("entry", "ENTRY_", entry::ALL),
        ("task_state", "TASK_", task_state::ALL),
        ("process", "PROCESS_", process::ALL),
        ("target", "TARGET_", target::ALL),
    ];
    for (name, prefix, ours) in all {
        let ours = ours
            .iter()
            .map(|(name, value)| (format!("{prefix}{name}"), *value))
            .collect();
        assert_eq!(program.enumeration(name), ours, "{name}");
    }
}

#[test]
fn tables_have_as_many_places() {
    let Some(program) = program() else { return };
    let tables = ["tasks", "free_slots", "cpus", "in_scheduler"].map(|map| program.entries_of(map));
    assert_eq!(tables, [TASKS, TASKS, CPUS, CPUS]);
}
