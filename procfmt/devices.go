package procfmt

import (
	"strings"

	"github.com/corewait/corewait/domain"
)

// InterruptDevice tells from a line's name and the text after its counts which
// device the line belongs to and of what class that is. device is empty where
// the text names none.
//
// Names are hints: drivers choose them, and the kernel cuts them short. Where
// sysfs is at hand, /sys/class/net/*/device/msi_irqs is the authority.
func InterruptDevice(id, description string) (device string, class domain.DeviceClass) {
	for i := range len(id) {
		if !isDigit(id[i]) {
			return "", domain.ClassKernel
		}
	}
	chip, handlers := splitDescription(description)
	if isKernelsOwn(chip, handlers) {
		return "", domain.ClassKernel
	}
	// Of devices that share a line the network port counts first, then storage:
	// they are what is busy.
	for name := range strings.SplitSeq(handlers, ",") {
		name = strings.TrimSpace(name)
		d, c := handlerDevice(name)
		switch {
		case name == "":
		case c == domain.ClassNetwork:
			return d, c
		case device == "" || c == domain.ClassStorage && class != domain.ClassStorage:
			device, class = d, c
		}
	}
	return device, class
}

// splitDescription parts the interrupt chip, with its hardware number and
// trigger, from the handlers' names:
//
//	IR-PCI-MSI-edge      eth4-TxRx-0              before kernel 4.x
//	PCI-MSI 512000-edge      ahci[0000:00:1f.2]   since
//	GICv3  27 Level     arch_timer                ARM
//	xen-dyn    -event     eth0-q0-tx              Xen
//	XT-PIC  timer                                 no trigger
func splitDescription(description string) (chip, handlers string) {
	rest := strings.TrimSpace(description)
	for n := 0; n < 5 && rest != ""; n++ {
		word, after := cutWord(rest)
		if isTrigger(word, n > 0) {
			return strings.TrimSpace(description[:len(description)-len(after)]), strings.TrimSpace(after)
		}
		rest = after
	}
	// No trigger: the handlers begin after the last gap of two blanks, else
	// after the first word.
	rest = strings.TrimSpace(description)
	if gap := strings.LastIndex(rest, "  "); gap >= 0 {
		return strings.TrimSpace(rest[:gap]), strings.TrimSpace(rest[gap:])
	}
	chip, handlers = cutWord(rest)
	return chip, strings.TrimSpace(handlers)
}

func cutWord(s string) (word, rest string) {
	s = strings.TrimLeft(s, " \t")
	if end := strings.IndexAny(s, " \t"); end >= 0 {
		return s[:end], s[end:]
	}
	return s, ""
}

// isTrigger says whether a word of the description is the one that tells how
// the interrupt is triggered; it is the last before the handlers. Only words
// after the first may be a trigger alone.
func isTrigger(word string, later bool) bool {
	if later && (word == "Edge" || word == "Level" || word == "None") {
		return true
	}
	dash := strings.LastIndexByte(word, '-')
	if dash < 0 {
		return false
	}
	switch word[dash+1:] {
	case "edge", "level", "fasteoi", "simple", "percpu", "event":
		return true
	case "msi", "x", "virq", "ipi": // Xen: -msi, -msi-x, -virq, -ipi
		return later && word[0] == '-'
	}
	return false
}

// isKernelsOwn tells numbered lines that are timers and inter-processor
// interrupts all the same: the ARM timers, Xen's per-CPU events, IPIs on POWER.
func isKernelsOwn(chip, handlers string) bool {
	switch handlers {
	case "arch_timer", "arch_mem_timer", "arm-pmu", "arm_pmu", "riscv-timer", "riscv-pmu",
		"kvm guest vtimer", "kvm guest ptimer", "kvm guest timer":
		return true
	}
	if strings.HasPrefix(chip, "Dynamic-irq") { // Xen with kernel 2.6.18
		for _, event := range []string{"timer", "resched", "callfunc", "spinlock"} {
			if number, found := strings.CutPrefix(handlers, event); found && allDigits(number) {
				return true
			}
		}
	}
	return strings.HasPrefix(chip, "xen-percpu") || handlers == "IPI" || strings.HasPrefix(handlers, "IPI-")
}

// handlerDevice tells the device behind one handler's name.
func handlerDevice(name string) (device string, class domain.DeviceClass) {
	if d, c, ok := virtioDevice(name); ok {
		return d, c
	}
	if d, ok := driverDevice(name, storageDrivers); ok {
		return d, domain.ClassStorage
	}
	if d, ok := networkDevice(name); ok {
		return d, domain.ClassNetwork
	}
	return name, domain.ClassOther
}

// virtioDevice reads virtio0-input.0 (network) and virtio1-req.0 (disk).
func virtioDevice(name string) (device string, class domain.DeviceClass, ok bool) {
	device, queue, found := strings.Cut(name, "-")
	if number := strings.TrimPrefix(device, "virtio"); !found || number == device || !allDigits(number) {
		return "", domain.ClassOther, false
	}
	queue, _, _ = strings.Cut(queue, ".")
	switch queue {
	case "input", "output":
		return device, domain.ClassNetwork, true
	case "req", "request", "requests":
		return device, domain.ClassStorage, true
	}
	return device, domain.ClassOther, true
}

// storageDrivers are the beginnings of handler names that belong to disks and
// host bus adapters.
var storageDrivers = []string{
	"nvme", "ahci", "megasas", "megaraid_sas", "megaraid", "mpt3sas", "mpt2sas", "mpi3mr", "mptsas", "mptspi", "mptfc", "ioc",
	"hpsa", "cciss", "smartpqi", "aacraid", "aic7xxx", "aic79xx", "aic94xx", "arcmsr", "isci", "ips", "ipr", "3w-9xxx", "3w-sas", "3w-xxxx",
	"qla2xxx", "qla24xx", "qla4xxx", "qla2300", "qla2400", "lpfc", "bfa", "fnic", "csiostor", "ibmvfc", "ibmvscsi", "zfcp", "efct", "bnx2fc", "be2iscsi", "beiscsi",
	"ata_piix", "ata_generic", "ata", "libata", "ide", "sata_nv", "sata_sil", "sata_sil24", "sata_mv", "sata_svw", "sata_via", "pata_amd", "pata_via", "pata_atiixp",
	"mvsas", "pm80xx", "pmcraid", "hisi_sas", "hisi_sas_v3_hw", "sym53c8xx", "stex", "hptiop", "gdth", "iodrive", "mtip32xx", "rsxx", "skd",
	"vmw_pvscsi", "pvscsi", "blkif", "virtio_blk", "virtio_scsi", "sdhci", "mmc", "ufshcd",
}

// networkDrivers are the beginnings of handler names that name a network
// driver and no port.
var networkDrivers = []string{
	"mlx4", "mlx5", "mthca", "ib_mthca", "ena", "efa", "mana", "gve", "bnxt", "bnxt_en", "bnx2", "bnx2x", "cnic", "nfp", "hinic", "hns3",
	"i40e", "i40evf", "iavf", "ice", "idpf", "irdma", "ixgbe", "ixgbevf", "igb", "igbvf", "e1000", "e1000e", "tg3", "be2net", "enic",
	"cxgb3", "cxgb4", "qede", "qed", "qlcnic", "netxen", "sfc", "vmxnet3", "hfi1", "qib", "nicvf", "atlantic", "r8169", "iwlwifi", "fm10k",
}

// driverDevice matches name against drivers and gives the driver with its
// instance number ("hpsa2-msix3": "hpsa2"), or with the PCI address that the
// name carries ("mlx5_comp3@pci:0000:3b:00.0": "mlx5@0000:3b:00.0").
func driverDevice(name string, drivers []string) (device string, ok bool) {
	for _, driver := range drivers {
		if !strings.HasPrefix(name, driver) {
			continue
		}
		end := len(driver)
		for end < len(name) && isDigit(name[end]) {
			end++
		}
		// "nvme0q3" is the one name in which a letter follows the number.
		queue := driver == "nvme" && end > len(driver) && end < len(name) && name[end] == 'q'
		if end < len(name) && isNameByte(name[end]) && name[end] != '_' && !queue {
			continue
		}
		if address := pciAddress(name[end:]); address != "" {
			return driver + "@" + address, true
		}
		return name[:end], true
	}
	return "", false
}

// networkDevice tells the port behind a handler's name:
//
//	eth7, eth7-2, eth7[0], ens3f0-TxRx-0, em1-fp-0, p1p1-rx-0, eth0-Tx-Rx-0
//	i40e-eth1-TxRx-4, hns3-0000:7d:00.0-TxRx-0, mlx5_comp3@pci:0000:3b:00.0
//	priv1-TxRx-3 (a port under a name of the site's own)
//	Intel EtherExpress Pro 10/100 Ethernet
func networkDevice(name string) (device string, ok bool) {
	if port, ok := portName(name); ok {
		return port, true
	}
	if strings.Contains(name, "%d") { // gvnic registers before the port has its number
		return "", strings.HasPrefix(name, "eth%d") || strings.HasPrefix(name, "gve")
	}
	if port, ok := portBehindDriver(name); ok {
		return port, true
	}
	if d, ok := driverDevice(name, networkDrivers); ok {
		return d, true
	}
	if port, ok := queueOwner(name); ok {
		return port, true
	}
	return name, strings.Contains(name, "Ethernet") || strings.Contains(name, "EtherExpress")
}

// portBehindDriver reads names that begin with the driver's: i40e-eth1-TxRx-4.
func portBehindDriver(name string) (port string, ok bool) {
	driver, rest, found := strings.Cut(name, "-")
	if !found {
		return "", false
	}
	if d, isDriver := driverDevice(driver, networkDrivers); !isDriver || d != driver {
		return "", false
	}
	if port, ok := portName(rest); ok {
		return port, true
	}
	if pciAddress(rest) != "" {
		return "", false
	}
	return queueOwner(rest)
}

// queueOwner gives the port before a suffix that only network queues have.
func queueOwner(name string) (owner string, ok bool) {
	for _, suffix := range []string{"-TxRx-", "-Tx-Rx-", "-txrx-", "-rxtx-", "-rx-", "-tx-", "-Rx-", "-Tx-", "-fp-"} {
		if at := strings.LastIndex(name, suffix); at > 0 && allDigits(name[at+len(suffix):]) {
			return name[:at], isInterfaceName(name[:at])
		}
	}
	return "", false
}

// portName gives the network port that a name begins with, under the names
// that the kernel, udev and biosdevname give: eth10, em1, p1p1, ib0, ens3f0,
// enp59s0f0np0, eno1, enx001122334455, wlan0.
func portName(name string) (port string, ok bool) {
	end := 0
	for end < len(name) && isNameByte(name[end]) {
		end++
	}
	port = name[:end]
	if end < len(name) && strings.IndexByte("-:[@. (", name[end]) < 0 {
		return "", false
	}
	return port, isPortName(port)
}

func isPortName(s string) bool {
	for _, prefix := range []string{"eth", "em", "ib", "wlan"} {
		if number, found := strings.CutPrefix(s, prefix); found && isPortNumber(number) {
			return true
		}
	}
	if len(s) < 4 {
		return false
	}
	switch s[:2] {
	case "en", "ib", "wl": // udev: type, then the place: o1, s3f0, p59s0f0, x001122334455
		return strings.IndexByte("ospPx", s[2]) >= 0 && (isDigit(s[3]) || s[2] == 'x') && !strings.Contains(s, "_")
	}
	slot, port, found := strings.Cut(s[1:], "p") // biosdevname: p<slot>p<port>
	return found && s[0] == 'p' && allDigits(slot) && isPortNumber(port)
}

// isPortNumber reads a port's number, with that of its virtual function (1_2).
func isPortNumber(s string) bool {
	port, function, virtual := strings.Cut(s, "_")
	return allDigits(port) && (!virtual || allDigits(function))
}

// pciAddress finds an address such as 0000:3b:00.0 in s.
func pciAddress(s string) string {
	const shape = "xxxx:xx:xx.x"
	for i := 0; i+len(shape) <= len(s); i++ {
		if matchesPCI(s[i:i+len(shape)], shape) && (i == 0 || !isNameByte(s[i-1])) {
			return s[i : i+len(shape)]
		}
	}
	return ""
}

func matchesPCI(s, shape string) bool {
	for i := range len(shape) {
		c := s[i]
		if shape[i] != 'x' {
			if c != shape[i] {
				return false
			}
			continue
		}
		if !isDigit(c) && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
			return false
		}
	}
	return true
}

func isNameByte(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
}

func allDigits(s string) bool {
	for i := range len(s) {
		if !isDigit(s[i]) {
			return false
		}
	}
	return s != ""
}
