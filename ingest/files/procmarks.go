package files

import (
	"bytes"
	"path"
	"regexp"
	"strings"
)

// maxLandmark bounds lines that announce a file or name a host.
const maxLandmark = 512

// announced is the file that a line within a log says comes next.
type announced struct {
	bond  string // the bond's name, where it is one
	other string // path of a file that is not read here
}

// announcedFile reads lines that say which file under /proc comes next, in the
// ways of tail, of a shell prompt and of scripts:
//
//	==> /proc/net/bonding/bond0 <==
//	[root@db1 ~]# cat /proc/interrupts
//	bond0:
//
// What grep puts before each row is no such line.
func announcedFile(line []byte) (file announced, ok bool) {
	if len(line) > maxLandmark {
		return file, false
	}
	text := strings.TrimRight(string(line), "<=*-#: \t")
	last := text[strings.LastIndexAny(text, " \t")+1:]
	if at := strings.Index(last, "/proc/"); at >= 0 {
		dir, base := path.Split(last[at:])
		switch {
		case dir == "/proc/net/bonding/" && bondFileName.MatchString(base):
			file.bond = base
		case dir == "/proc/" && (base == "interrupts" || base == "softirqs" || base == "stat" || base == "diskstats"):
		default:
			file.other = last[at:]
		}
		return file, true
	}
	if strings.TrimLeft(text, "=>*-# \t") == last && strings.HasPrefix(last, "bond") && bondFileName.MatchString(last) {
		return announced{bond: last}, true
	}
	return file, false
}

// bondFileName is what a file under /proc/net/bonding may be called: the name
// of an interface.
var bondFileName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{0,14}$`)

// nameOfBond gives the name of the bond that begins: that of the line before,
// else the file's; "" where neither can be one.
func (l *procLog) nameOfBond() string {
	if name := l.bondName; name != "" {
		l.bondName = ""
		return name
	}
	if l.met[blockBond] > 0 { // a second bond in the same file
		return ""
	}
	l.met[blockBond] = l.begin
	base := path.Base(l.in.name[strings.LastIndexByte(l.in.name, '!')+1:])
	for _, ending := range []string{".gz", ".zst", ".bz2", ".xz", ".txt", ".log", ".out"} {
		base = strings.TrimSuffix(base, ending)
	}
	if named := bondWithin.FindString(base); named != "" {
		return named
	}
	if bondFileName.MatchString(base) {
		return base
	}
	return ""
}

// bondWithin finds the bond's name in the names that collecting scripts give
// files, such as proc_net_bonding_bond0.
var bondWithin = regexp.MustCompile(`bond(eth|ib)?\d+$`)

// watcherBanner reads the lines with which OSWatcher begins a file; host is ""
// where the line names none:
//
//	Linux OSWbb v8.1.2 db1
//	SNAP_INTERVAL 30
func watcherBanner(line []byte) (host string, ok bool) {
	if len(line) > maxLandmark {
		return "", false
	}
	words := strings.Fields(string(line))
	switch {
	case len(words) >= 3 && words[0] == "Linux" && strings.HasPrefix(words[1], "OSW"):
		if len(words) == 4 {
			host = words[3]
		}
		return host, true
	case len(words) == 2:
		switch words[0] {
		case "SNAP_INTERVAL", "CPU_COUNT", "CPU_CORES", "VCPUS", "OSWBB_ARCHIVE_DEST":
			return "", true
		}
	}
	return "", false
}

// isCommentLine says whether a line is a comment, or an ornament without a
// letter or digit.
func isCommentLine(line []byte) bool {
	line = bytes.TrimSpace(line)
	if bytes.HasPrefix(line, []byte("#")) {
		return true
	}
	return !bytes.ContainsFunc(line, func(c rune) bool {
		return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
	})
}
