package procfmt

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/corewait/corewait/domain"
)

// maxSlaves bounds the slaves of one bond; the driver has no bound, switches do.
const maxSlaves = 1024

// bondHeading begins every file under /proc/net/bonding.
const bondHeading = "Ethernet Channel Bonding Driver:"

// IsBondHeading says whether line begins a file under /proc/net/bonding.
func IsBondHeading(line []byte) bool {
	return len(line) > len(bondHeading) && string(line[:len(bondHeading)]) == bondHeading
}

// BondParser reads files under /proc/net/bonding one after the other: Begin
// with the bond's name, which the file does not carry, Line for each line, End.
type BondParser struct {
	bond    domain.Bond
	heading bool
	err     error // the first line that spoils the bond
}

// Begin starts a bond.
func (p *BondParser) Begin(name string) { *p = BondParser{bond: domain.Bond{Name: name}} }

// Line takes one line; those that corewait has no use for are passed over.
func (p *BondParser) Line(line []byte) {
	if IsBondHeading(line) {
		p.heading = true
		return
	}
	key, value, found := strings.Cut(string(line[:min(len(line), 512)]), ":")
	if !found {
		return
	}
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	switch key {
	case "Bonding Mode":
		p.set(&p.bond.Mode, key, value)
	case "Currently Active Slave":
		if value != "None" {
			p.set(&p.bond.ActiveSlave, key, value)
		}
	case "Slave Interface":
		switch {
		case !isInterfaceName(value):
			p.spoil(fmt.Errorf("slave %.40q is not the name of an interface", value))
		case slices.Contains(p.bond.Slaves, value):
			p.spoil(fmt.Errorf("slave %s occurs twice", value))
		case len(p.bond.Slaves) >= maxSlaves:
			p.spoil(fmt.Errorf("more than %d slaves", maxSlaves))
		default:
			p.bond.Slaves = append(p.bond.Slaves, value)
		}
	}
}

// End gives the bond, or says why the text is not a whole one.
func (p *BondParser) End() (domain.Bond, error) {
	switch {
	case !p.heading:
		return domain.Bond{}, errors.New("not a file of /proc/net/bonding: it begins without the driver's heading")
	case p.err != nil:
		return domain.Bond{}, p.err
	case p.bond.Mode == "":
		return domain.Bond{}, errors.New("bond without a bonding mode: the text is cut or damaged")
	case p.bond.ActiveSlave != "" && !slices.Contains(p.bond.Slaves, p.bond.ActiveSlave):
		return domain.Bond{}, fmt.Errorf("active slave %s is not among the slaves: the text is cut or damaged", p.bond.ActiveSlave)
	}
	return p.bond, nil
}

// ParseBond reads one file of /proc/net/bonding; name is the file's name.
func ParseBond(name string, data []byte) (domain.Bond, error) {
	var p BondParser
	p.Begin(name)
	for len(data) > 0 {
		var line []byte
		line, data = cutLine(data)
		p.Line(line)
	}
	return p.End()
}

func (p *BondParser) set(to *string, key, value string) {
	switch {
	case value == "":
		p.spoil(fmt.Errorf("%s is empty", key))
	case *to != "":
		p.spoil(fmt.Errorf("%s %w", key, ErrRepeated))
	default:
		*to = value
	}
}

func (p *BondParser) spoil(err error) {
	if p.err == nil {
		p.err = err
	}
}

// isInterfaceName applies the kernel's rule (dev_valid_name in net/core/dev.c):
// at most 15 bytes, no blank, slash or colon.
func isInterfaceName(name string) bool {
	return name != "" && len(name) < 16 && name != "." && name != ".." &&
		!strings.ContainsAny(name, "/:") && !strings.ContainsFunc(name, unicode.IsSpace)
}
