package procfmt

import (
	"strings"
	"testing"

	"github.com/corewait/corewait/domain"
)

// The names are those that drivers in the kernel's source give their vectors.
func TestDeviceAndClassOfAnInterruptLine(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		id, description, device string
		class                   domain.DeviceClass
	}{
		// network
		{"120", "IR-PCI-MSI 524288-edge      ens3f0-TxRx-0", "ens3f0", domain.ClassNetwork},
		{"120", "IR-PCI-MSI-0000:3b:00.0   0-edge      ens3f0-TxRx-0", "ens3f0", domain.ClassNetwork},
		{"120", "PCI-MSI-edge      eth1-TxRx-0", "eth1", domain.ClassNetwork},
		{"120", "PCI-MSI-edge      eth10-TxRx-1", "eth10", domain.ClassNetwork},
		{"120", "PCI-MSI-edge      eth1", "eth1", domain.ClassNetwork},
		{"120", "PCI-MSI-edge      eth7-2", "eth7", domain.ClassNetwork},
		{"120", "PCI-MSI-edge      eth0[0]", "eth0", domain.ClassNetwork},
		{"120", "PCI-MSI-edge      eth0:lsc", "eth0", domain.ClassNetwork},
		{"120", "PCI-MSI-edge      eth2 (queue 0)", "eth2", domain.ClassNetwork},
		{"120", "PCI-MSI-edge      em1-fp-0", "em1", domain.ClassNetwork},
		{"120", "PCI-MSI-edge      p1p1-rx-0", "p1p1", domain.ClassNetwork},
		{"120", "PCI-MSI-edge      p1p2_3-TxRx-0", "p1p2_3", domain.ClassNetwork},
		{"120", "PCI-MSI 1-edge      enp59s0f0np0-TxRx-0", "enp59s0f0np0", domain.ClassNetwork},
		{"120", "PCI-MSI 1-edge      eno1-tx-0", "eno1", domain.ClassNetwork},
		{"120", "PCI-MSI 1-edge      enx001122334455", "enx001122334455", domain.ClassNetwork},
		{"120", "PCI-MSI 1-edge      ib0", "ib0", domain.ClassNetwork},
		{"120", "ITS-MSI 81921 Edge      eth0-Tx-Rx-0", "eth0", domain.ClassNetwork},
		{"120", "PCI-MSI 1-edge      eth0-rxtx-3", "eth0", domain.ClassNetwork},
		{"120", "PCI-MSI 1-edge      i40e-eth1-TxRx-4", "eth1", domain.ClassNetwork},
		{"120", "PCI-MSI 1-edge      ice-ens1f0-TxRx-3", "ens1f0", domain.ClassNetwork},
		{"120", "PCI-MSI 1-edge      iavf-priv1-TxRx-3", "priv1", domain.ClassNetwork},
		{"120", "PCI-MSI 1-edge      i40e-0000:18:00.0:misc", "i40e@0000:18:00.0", domain.ClassNetwork},
		{"120", "PCI-MSI 1-edge      hns3-0000:7d:00.0-TxRx-0", "hns3@0000:7d:00.0", domain.ClassNetwork},
		{"120", "PCI-MSI 1-edge      mlx5_comp3@pci:0000:3b:00.0", "mlx5@0000:3b:00.0", domain.ClassNetwork},
		{"120", "PCI-MSI-edge      mlx4-comp-0@pci:0000:04:00.0", "mlx4@0000:04:00.0", domain.ClassNetwork},
		{"120", "ITS-MSI 81920 Edge      ena-mgmnt@pci:0000:00:05.0", "ena@0000:00:05.0", domain.ClassNetwork},
		{"120", "PCI-MSI 1-edge      gve-ntfy-blk0@pci:0000:00:04.0", "gve@0000:00:04.0", domain.ClassNetwork},
		{"120", "PCI-MSI 1-edge      eth%d-ntfy-block.0", "", domain.ClassNetwork},
		{"120", "PCI-MSI 1-edge      virtio0-input.0", "virtio0", domain.ClassNetwork},
		{"120", "PCI-MSI 1-edge      interconnect-TxRx-3", "interconnect", domain.ClassNetwork},
		{"120", "xen-dyn    -event     eth0-q0-tx", "eth0", domain.ClassNetwork},
		{"120", "xen-pirq    -msi-x     eth0-TxRx-0", "eth0", domain.ClassNetwork},
		{"16", "IO-APIC-level  Intel EtherExpress Pro 10/100 Ethernet", "Intel EtherExpress Pro 10/100 Ethernet", domain.ClassNetwork},
		{"16", "8259A-edge      eth0", "eth0", domain.ClassNetwork},
		{"16", "IO-APIC  16-fasteoi   ehci_hcd:usb1, eth3", "eth3", domain.ClassNetwork},
		// storage
		{"120", "PCI-MSI 1-edge      qla2xxx1_rsp_q-6", "qla2xxx1", domain.ClassStorage},
		{"120", "PCI-MSI-edge      qla2xxx (default)", "qla2xxx", domain.ClassStorage},
		{"120", "PCI-MSI 1-edge      lpfc:3", "lpfc", domain.ClassStorage},
		{"120", "PCI-MSI 1-edge      nvme0q3", "nvme0", domain.ClassStorage},
		{"120", "PCI-MSI 1-edge      nvme10q0", "nvme10", domain.ClassStorage},
		{"120", "PCI-MSI 1-edge      megasas0-msix12", "megasas0", domain.ClassStorage},
		{"120", "PCI-MSI 1-edge      mpt3sas0-msix1", "mpt3sas0", domain.ClassStorage},
		{"120", "PCI-MSI-edge      hpsa2-msix3", "hpsa2", domain.ClassStorage},
		{"120", "PCI-MSI 1-edge      ahci[0000:00:1f.2]", "ahci@0000:00:1f.2", domain.ClassStorage},
		{"120", "PCI-MSI-edge      ahci", "ahci", domain.ClassStorage},
		{"120", "PCI-MSI 1-edge      virtio1-req.0", "virtio1", domain.ClassStorage},
		{"120", "PCI-MSI 1-edge      smartpqi", "smartpqi", domain.ClassStorage},
		{"14", "IO-APIC  14-edge      ata_piix", "ata_piix", domain.ClassStorage},
		{"30", "IO-APIC-level  aic7xxx", "aic7xxx", domain.ClassStorage},
		{"17", "IO-APIC  17-fasteoi   ehci_hcd:usb1, ioc0", "ioc0", domain.ClassStorage},
		{"17", "IO-APIC  17-fasteoi   aacraid", "aacraid", domain.ClassStorage},
		// other devices
		{"0", "IO-APIC   2-edge      timer", "timer", domain.ClassOther},
		{"0", "XT-PIC  timer", "timer", domain.ClassOther},
		{"8", "IR-IO-APIC   8-edge      rtc0", "rtc0", domain.ClassOther},
		{"9", "IO-APIC   9-fasteoi   acpi", "acpi", domain.ClassOther},
		{"12", "IO-APIC-edge  PS/2 Mouse", "PS/2 Mouse", domain.ClassOther},
		{"44", "IR-PCI-MSI-edge      i915", "i915", domain.ClassOther},
		{"24", "PCI-MSI 344064-edge      PCIe PME, pciehp", "PCIe PME", domain.ClassOther},
		{"28", "PCI-MSIX-0000:00:01.0   0-edge      virtio0-config", "virtio0", domain.ClassOther},
		{"17", "GICv3  48 Edge      ACPI:Ged", "ACPI:Ged", domain.ClassOther},
		{"30", "IR-PCI-MSI 524288-edge", "", domain.ClassOther},
		{"7", "IR-IO-APIC-edge", "", domain.ClassOther},
		{"120", "PCI-MSI-edge      ethernet", "ethernet", domain.ClassOther},
		{"120", "PCI-MSI-edge      enclosure", "enclosure", domain.ClassOther},
		// the kernel's own
		{"LOC", "Local timer interrupts", "", domain.ClassKernel},
		{"IPI0", "Rescheduling interrupts", "", domain.ClassKernel},
		{"I/O", "", "", domain.ClassKernel},
		{"ERR", "", "", domain.ClassKernel},
		{"10", "GICv3  27 Level     arch_timer", "", domain.ClassKernel},
		{"49", "GICv3  23 Level     arm-pmu", "", domain.ClassKernel},
		{"48", "xen-percpu    -virq      timer0", "", domain.ClassKernel},
		{"49", "xen-percpu    -ipi       resched0", "", domain.ClassKernel},
		{"256", "Dynamic-irq-level     timer0", "", domain.ClassKernel},
		{"16", "XICS     2 Edge      IPI", "", domain.ClassKernel},
	} {
		device, class := InterruptDevice(tt.id, tt.description)
		if device != tt.device || class != tt.class {
			t.Errorf("%s %q: %q %s, want %q %s", tt.id, tt.description, device, class, tt.device, tt.class)
		}
	}
}

func TestEveryKernelLineOfX86IsKeptApart(t *testing.T) {
	t.Parallel()
	// arch/x86/kernel/irq.c, arch_show_interrupts.
	for _, id := range []string{
		"NMI", "LOC", "SPU", "PMI", "IWI", "RTR", "PLT", "RES", "CAL", "TLB", "TRM", "THR", "DFR", "MCE", "MCP",
		"HYP", "HRE", "HVS", "ERR", "MIS", "PIN", "NPI", "PIW", "PMN",
	} {
		if _, class := InterruptDevice(id, "eth0"); class != domain.ClassKernel {
			t.Errorf("%s: %s, want kernel", id, class)
		}
	}
}

func FuzzInterruptDevice(f *testing.F) {
	for _, tt := range [][2]string{
		{"120", "IR-PCI-MSI-edge      eth4-TxRx-0"}, {"24", "PCI-MSI 512000-edge      ahci[0000:00:1f.2], eth1"},
		{"3", "GICv3  27 Level     arch_timer"}, {"40", "mlx5_comp3@pci:0000:3b:00.0"}, {"LOC", "Local timer interrupts"}, {"9", ""},
	} {
		f.Add(tt[0], tt[1])
	}
	f.Fuzz(func(t *testing.T, id, description string) {
		device, class := InterruptDevice(id, description)
		if device != strings.TrimSpace(device) || device != "" && class == domain.ClassKernel {
			t.Fatalf("device %q of class %v", device, class)
		}
	})
}
