use record::Fact;

use super::{Root, processor::Processor};

/// What firmware tables of virtual machines say, with the hypervisor's name. Vendors of bare machines are not here.
const FIRMWARE: [(&str, &str); 9] = [
    ("QEMU", "qemu or kvm"),
    ("KVM", "kvm"),
    ("Amazon EC2", "kvm"),
    ("Google Compute Engine", "kvm"),
    ("VMware", "vmware"),
    ("VirtualBox", "virtualbox"),
    ("Xen", "xen"),
    ("Virtual Machine", "hyper-v"),
    ("Parallels", "parallels"),
];

/// The hypervisor's name, or `none`: CPUID first, then what the kernel found, then the firmware's tables.
pub(crate) fn hypervisor(root: &Root, processor: &Processor) -> Fact<String> {
    let is_flagged = processor.has("hypervisor");
    let xen = || root.line("/sys/hypervisor/type").ok().filter(|name| !name.is_empty());
    // Clouds sell bare machines under the same firmware vendor: there the CPU's missing flag decides.
    let firmware = || if is_flagged == Some(false) { None } else { of_firmware(root) };
    match (of_cpuid(root).or_else(xen).or_else(firmware), is_flagged) {
        (Some(name), _) => Fact::Known(name),
        (None, Some(false)) => Fact::Known("none".to_owned()),
        (None, Some(true)) => Fact::unknown("the CPU is virtual, but nothing names its hypervisor"),
        (None, None) => Fact::unknown("the CPU lists no hypervisor flag, and no firmware table names one"),
    }
}

fn of_firmware(root: &Root) -> Option<String> {
    let files = ["sys_vendor", "product_name", "bios_vendor"].map(|name| format!("/sys/class/dmi/id/{name}"));
    let texts: Vec<_> = files.iter().filter_map(|file| root.line(file).ok()).collect();
    let found = FIRMWARE.iter().find(|(mark, _)| texts.iter().any(|text| text.contains(mark)));
    found.map(|(_, name)| (*name).to_owned())
}

#[cfg(target_arch = "x86_64")]
fn of_cpuid(root: &Root) -> Option<String> {
    root.is_system().then(|| super::cpuid::hypervisor(raw_cpuid::CpuIdReaderNative)).flatten()
}

#[cfg(not(target_arch = "x86_64"))]
fn of_cpuid(_: &Root) -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::fixture::Fixture;

    fn found(fixture: &Fixture) -> Fact<String> {
        hypervisor(&fixture.root(), &Processor::read(&fixture.root()))
    }

    fn known(name: &str) -> Fact<String> {
        Fact::Known(name.to_owned())
    }

    #[test]
    fn a_bare_machine_has_none_whatever_its_vendor() {
        assert_eq!(found(&Fixture::workstation()), known("none"));
        let metal = Fixture::workstation().file("/sys/class/dmi/id/sys_vendor", "Amazon EC2\n");
        assert_eq!(found(&metal), known("none"));
    }

    #[test]
    fn firmware_names_what_the_cpu_flags() {
        let guest = Fixture::new().file("/proc/cpuinfo", "flags : fpu hypervisor\n");
        assert_eq!(found(&guest), Fact::unknown("the CPU is virtual, but nothing names its hypervisor"));
        let guest = guest.file("/sys/class/dmi/id/product_name", "VMware7,1\n");
        assert_eq!(found(&guest), known("vmware"));
        assert_eq!(found(&guest.file("/sys/hypervisor/type", "xen\n")), known("xen"));
    }

    #[test]
    fn without_flags_nothing_is_concluded() {
        assert!(found(&Fixture::new()).known().is_none());
        let arm = Fixture::new().file("/sys/class/dmi/id/sys_vendor", "QEMU\n");
        assert_eq!(found(&arm), known("qemu or kvm"));
    }
}
