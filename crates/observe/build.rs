//! Compiles the BPF programs with clang. Without clang the crate builds, and reports at run time
//! that it lacks the programs.

use std::env;
use std::path::PathBuf;
use std::process::Command;

const PROGRAMS: [&str; 3] = ["switches", "stacks", "calls"];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=bpf");
    println!("cargo:rerun-if-env-changed=CLANG");
    PROGRAMS.into_iter().for_each(build);
}

fn build(program: &str) {
    let source = format!("bpf/{program}.bpf.c");
    let object = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"))
        .join(format!("{program}.bpf.o"));
    let Err(why) = compile(&source, &object) else {
        return;
    };
    println!("cargo:warning=switchcost observe will count no causes and no neighbours: {why}");
    // A file that is never there makes cargo try again at the next build.
    println!(
        "cargo:rerun-if-changed={}",
        object.with_extension("missing").display()
    );
    std::fs::write(&object, []).expect("OUT_DIR can be written");
}

fn compile(source: &str, object: &PathBuf) -> Result<(), String> {
    let machine = env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
    let (name, headers) = match machine.as_str() {
        "x86_64" => ("x86", "x86_64-linux-gnu"),
        "aarch64" => ("arm64", "aarch64-linux-gnu"),
        _ => {
            return Err(format!(
                "this machine is {machine}, and only x86_64 and aarch64 are supported"
            ));
        }
    };
    let clang = env::var("CLANG").unwrap_or_else(|_| "clang".to_owned());
    let output = Command::new(&clang)
        .args([
            "-target", "bpf", "-mcpu=v3", "-O2", "-g", "-Wall", "-Werror", "-c", source,
        ])
        .arg(format!("-D__TARGET_ARCH_{name}"))
        // Headers of this machine, or of the target machine in a directory of a cross-compiler.
        .arg(format!("-I/usr/include/{headers}"))
        .arg(format!("-I/usr/{headers}/include"))
        .arg("-o")
        .arg(object)
        .output()
        .map_err(|error| format!("{clang} cannot be run ({error}), which compiles {source}"))?;
    let words = String::from_utf8_lossy(&output.stderr);
    let first = words.lines().next().unwrap_or_default();
    if output.status.success() {
        Ok(())
    } else {
        Err(format!("{clang} refused {source}: {first}"))
    }
}
