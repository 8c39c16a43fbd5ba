package squid

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/perstack-go/perstack/internal/egress"
	"github.com/perstack-go/perstack/internal/netaddr"
)

// A Log reads decisions from the lines that Squid writes. It trusts no line: one that is
// not valid, or that allows what the listeners do not, is an error, and the caller should end
// Squid.
type Log struct {
	lines     *bufio.Reader
	listeners map[uint16]listener
	ids       int64
}

type listener struct {
	name  string
	allow egress.Allowlist
}

// maxEntry bounds a line of the log. The format bounds what clients put into it.
const maxEntry = 4 << 10

// NewLog returns the log of a Squid that was configured for listeners.
func NewLog(r io.Reader, policy egress.ProxyConfig) (*Log, error) {
	l := &Log{lines: bufio.NewReaderSize(r, maxEntry), listeners: map[uint16]listener{}}
	for _, of := range policy.Listeners {
		allow, err := egress.ParseAllowlist(of.Allow)
		if err != nil {
			return nil, err
		}
		l.listeners[address(of).Port()] = listener{of.Name, allow}
	}
	return l, nil
}

// Next returns the next decision and, for an allowed connection, what it carried: Squid
// reports it when it has ended. The end of the log is io.EOF.
func (l *Log) Next() (egress.Access, *egress.Closed, error) {
	for {
		text, err := l.lines.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return egress.Access{}, nil, fmt.Errorf("squid wrote a line of more than %d bytes to its log", maxEntry)
		case errors.Is(err, io.EOF) && len(text) > 0:
			return egress.Access{}, nil, errors.New("squid ended in the middle of a line of its log")
		case err != nil:
			return egress.Access{}, nil, err
		}
		e, err := parse(strings.TrimSuffix(string(text), "\n"))
		if err != nil {
			return egress.Access{}, nil, err
		}
		if e.nothing() {
			continue // no request, so no decision
		}
		return l.decision(e)
	}
}

// decision turns an entry into what perstack egress reports.
func (l *Log) decision(e entry) (egress.Access, *egress.Closed, error) {
	at, ok := l.listeners[e.port]
	if !ok {
		return egress.Access{}, nil, fmt.Errorf("squid's log names port %d, where no listener is", e.port)
	}
	l.ids++
	a := egress.Access{ID: l.ids, Listener: at.name, Reason: e.reason()}
	if !e.failed() {
		a.Host, a.Port = egress.Shown(e.target)
	}
	if a.Reason != "" {
		return a, nil, nil
	}
	a.Allowed = true
	server, err := netip.ParseAddr(e.server)
	switch {
	case a.Port != 443 || !at.allow.Allows(a.Host):
		return egress.Access{}, nil, fmt.Errorf("squid has let through %s port %d, which listener %q does not allow", a.Host, a.Port, a.Listener)
	case err != nil || netaddr.AddrReach(server) != netaddr.Public:
		return egress.Access{}, nil, fmt.Errorf("squid has let %s through to an address that is not public", a.Host)
	}
	a.Address = server.String()
	return a, &egress.Closed{ID: a.ID, Sent: e.sent, Received: e.received}, nil
}

// An entry is a line of the log; see format.
type entry struct {
	port           uint16
	did            string // TCP_TUNNEL, TCP_DENIED, NONE_NONE …
	status         int
	problem        string // ERR_CONNECT_FAIL …
	note           string
	server         string
	sent, received int64
	method, target string
}

var errEntry = errors.New("squid wrote a line to its log that is not of the format it was told")

func parse(line string) (e entry, err error) {
	f := strings.Split(line, " ")
	if len(f) != 10 || strings.ContainsFunc(line, func(c rune) bool { return c < ' ' || c > '~' }) {
		return e, errEntry
	}
	port, err1 := strconv.ParseUint(f[0], 10, 16)
	status, err2 := strconv.ParseUint(f[2], 10, 10)
	sent, err3 := strconv.ParseInt(f[6], 10, 64)
	received, err4 := strconv.ParseInt(f[7], 10, 64)
	if errors.Join(err1, err2, err3, err4) != nil {
		return e, errEntry
	}
	if e.target, err = url.PathUnescape(f[9]); err != nil {
		e.target = f[9] // cut in the middle of an escape
	}
	e.port, e.did, e.status, e.problem, e.note, e.server = uint16(port), f[1], int(status), f[3], f[4], f[5]
	e.sent, e.received, e.method = sent, received, f[8]
	return e, nil
}

// nothing reports a client that came and went without a request.
func (e entry) nothing() bool {
	return e.status == 0 && e.method == "-" && e.target == "error:transaction-end-before-headers"
}

// failed reports a request that Squid did not understand: the target is a word of its own.
func (e entry) failed() bool {
	return e.status != 200 && e.status != 403 && strings.HasPrefix(e.target, "error:")
}

// reason is why a connection was refused; empty if it was not.
func (e entry) reason() string {
	switch {
	case slices.Contains(egress.Reasons(), e.note):
		return e.note
	case strings.HasPrefix(e.did, "TCP_TUNNEL") && e.status == 200:
		return ""
	case e.target == "error:accept-client-connection":
		return egress.ReasonLimit
	case e.status == 403:
		return egress.ReasonDomain // the last rule
	case e.problem == "ERR_DNS_FAIL" || e.problem == "ERR_CANNOT_FORWARD":
		return egress.ReasonResolve
	case e.method == "CONNECT" && (e.status >= 500 && e.problem != "-" || e.status == 0):
		return egress.ReasonUnreached // also by a client that did not wait
	}
	return egress.ReasonRequest
}
