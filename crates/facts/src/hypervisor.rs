use switchcost_record::Fact;

use super::{Root, processor::Processor};

/// Vendor and product names in the firmware tables (DMI) of virtual machines, each with the
/// hypervisor's name. Vendors of physical machines are not listed.
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

/// Texts in the device tree's hypervisor node, each with the hypervisor's name.
const DEVICE_TREE: [(&str, &str); 3] = [("kvm", "kvm"), ("xen", "xen"), ("vmware", "vmware")];

/// Returns the hypervisor's name, or `none` on a physical machine. The sources, in this order, are
/// CPUID, the kernel's own detection, the firmware tables, and the device tree.
pub(crate) fn hypervisor(root: &Root, processor: &Processor) -> Fact<String> {
    let is_flagged = processor
        .has("hypervisor")
        .or_else(|| is_sold_bare(root).then_some(false));
    let xen = || {
        root.line("/sys/hypervisor/type")
            .ok()
            .filter(|name| !name.is_empty())
    };
    // Bare-metal machines of a cloud have the same firmware vendor as its virtual machines. Then
    // the CPU flag `hypervisor` or the product name decides.
    let firmware = || {
        if is_flagged == Some(false) {
            None
        } else {
            firmware_hypervisor(root).or_else(|| device_tree_hypervisor(root))
        }
    };
    match (
        cpuid_hypervisor(root).or_else(xen).or_else(firmware),
        is_flagged,
    ) {
        (Some(name), _) => Fact::Known(name),
        (None, Some(false)) => Fact::Known("none".to_owned()),
        (None, Some(true)) => Fact::unknown("the CPU is virtual, but nothing names its hypervisor"),
        (None, None) => {
            Fact::unknown("neither the CPU nor a table of the firmware nor a device tree names one")
        }
    }
}

fn firmware_hypervisor(root: &Root) -> Option<String> {
    let files = ["sys_vendor", "product_name", "bios_vendor"]
        .map(|name| format!("/sys/class/dmi/id/{name}"));
    let texts: Vec<_> = files
        .iter()
        .filter_map(|file| root.line(file).ok())
        .collect();
    let found = FIRMWARE
        .iter()
        .find(|(mark, _)| texts.iter().any(|text| text.contains(mark)));
    found.map(|(_, name)| (*name).to_owned())
}

/// Whether the product name in the firmware tables is that of a bare-metal cloud machine, such as
/// Amazon's `m7g.metal`.
fn is_sold_bare(root: &Root) -> bool {
    let product = root
        .line("/sys/class/dmi/id/product_name")
        .unwrap_or_default();
    product.ends_with(".metal") || product.contains(".metal-")
}

/// Returns the hypervisor's name from the device tree's hypervisor node. Without such a node, the
/// result is `qemu or kvm` if the tree has QEMU's firmware-configuration device or the name of a
/// virtual board.
fn device_tree_hypervisor(root: &Root) -> Option<String> {
    let of_itself = root
        .line("/proc/device-tree/hypervisor/compatible")
        .unwrap_or_default();
    if let Some((_, name)) = DEVICE_TREE
        .iter()
        .find(|(mark, _)| of_itself.contains(mark))
    {
        return Some((*name).to_owned());
    }
    let is_of_qemu = root
        .names("/proc/device-tree")
        .iter()
        .any(|name| name.starts_with("fw-cfg"));
    let is_no_board = || {
        root.line("/proc/device-tree/compatible")
            .is_ok_and(|text| text.contains("dummy-virt"))
    };
    (is_of_qemu || is_no_board()).then(|| "qemu or kvm".to_owned())
}

#[cfg(target_arch = "x86_64")]
fn cpuid_hypervisor(root: &Root) -> Option<String> {
    root.is_system()
        .then(|| super::cpuid::hypervisor(raw_cpuid::CpuIdReaderNative))
        .flatten()
}

#[cfg(not(target_arch = "x86_64"))]
fn cpuid_hypervisor(_: &Root) -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;
    use crate::tests::known;

    fn found(fixture: &Fixture) -> Fact<String> {
        hypervisor(&fixture.root(), &Processor::read(&fixture.root()))
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
        assert_eq!(
            found(&guest),
            Fact::unknown("the CPU is virtual, but nothing names its hypervisor")
        );
        let guest = guest.file("/sys/class/dmi/id/product_name", "VMware7,1\n");
        assert_eq!(found(&guest), known("vmware"));
        assert_eq!(
            found(&guest.file("/sys/hypervisor/type", "xen\n")),
            known("xen")
        );
    }

    #[test]
    fn without_flags_nothing_is_concluded() {
        assert!(found(&Fixture::new()).known().is_none());
        let arm = Fixture::new().file("/sys/class/dmi/id/sys_vendor", "QEMU\n");
        assert_eq!(found(&arm), known("qemu or kvm"));
        let metal = Fixture::new().file("/sys/class/dmi/id/sys_vendor", "Amazon EC2\n");
        assert_eq!(
            found(&metal.file("/sys/class/dmi/id/product_name", "m7g.metal\n")),
            known("none")
        );
    }

    #[test]
    fn a_device_tree_names_what_no_table_does() {
        let tree = |path: &str, text: &str| {
            found(&Fixture::new().file(&format!("/proc/device-tree/{path}"), text))
        };
        let none = "neither the CPU nor a table of the firmware nor a device tree names one";
        for (path, text, expected) in [
            ("hypervisor/compatible", "linux,kvm\0", known("kvm")),
            (
                "hypervisor/compatible",
                "xen,xen-4.17\0xen,xen\0",
                known("xen"),
            ),
            (
                "fw-cfg@9020000/compatible",
                "qemu,fw-cfg-mmio\0",
                known("qemu or kvm"),
            ),
            ("compatible", "linux,dummy-virt\0", known("qemu or kvm")),
            (
                "compatible",
                "raspberrypi,4-model-b\0brcm,bcm2711\0",
                Fact::unknown(none),
            ),
        ] {
            assert_eq!(tree(path, text), expected, "{path} {text}");
        }
    }
}
