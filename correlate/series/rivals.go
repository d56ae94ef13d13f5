package series

import (
	"strings"

	"github.com/corewait/corewait/domain"
)

// rivalEvent says whether waits of an event speak for or against a rival
// explanation of slow commits, and are therefore kept whatever their length.
func rivalEvent(event string) bool {
	switch event {
	case domain.EventSYNCRemoteWrite, domain.EventWaitForSCNAck, "LNS wait on SENDREQ", "LGWR-LNS wait on channel", "redo transport wait":
		return true
	}
	return strings.HasPrefix(event, "log file switch") || strings.HasPrefix(event, "ASYNC Remote Write")
}

// backgroundHost gives the host in a background process' PROGRAM,
// "oracle@db1 (LGWR)".
func backgroundHost(program string) (string, bool) {
	_, rest, ok := strings.Cut(program, "@")
	if !ok {
		return "", false
	}
	host, _, ok := strings.Cut(rest, " (")
	return ShortHost(host), ok && host != ""
}

// ShortHost gives a host name in lower case up to its first dot: the form in
// which names from different sources are compared.
func ShortHost(host string) string {
	short, _, _ := strings.Cut(host, ".")
	return strings.ToLower(short)
}
