package selftest

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"
)

// outsideName is a new name each time, so that no cache answers.
func outsideName() string { return strings.ToLower(rand.Text()) + ".selftest.example.com" }

// headerSize is the size of the header of a DNS message.
const headerSize = 12

// daemonResolver is where Docker answers for the names of its containers.
var daemonResolver = netip.MustParseAddr("127.0.0.11")

// dns checks that no query for an outside name is answered. "No such name" is an answer
// too: the query left the sandbox, and a query can carry a secret.
func dns(ctx context.Context, _ Spec) (string, error) {
	text, err := os.ReadFile("/etc/resolv.conf")
	if err != nil && !os.IsNotExist(err) {
		return "", err
	}
	var targets []target
	for _, server := range append(nameServers(string(text)), daemonResolver) {
		at := netip.AddrPortFrom(server, 53)
		targets = append(targets, target{"udp", at}, target{"tcp", at})
	}
	return "no outside name is answered for", sideBySide(targets, func(t target) error { return t.resolves(ctx, silence) })
}

// nameServers reads resolv.conf.
func nameServers(text string) (all []netip.Addr) {
	for f := range rows(text, 2) {
		if addr, err := netip.ParseAddr(f[1]); err == nil && f[0] == "nameserver" {
			all = append(all, addr)
		}
	}
	return all
}

// rows returns the fields of the lines that have so many at least.
func rows(table string, least int) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		for line := range strings.Lines(table) {
			if f := strings.Fields(line); len(f) >= least && !yield(f) {
				return
			}
		}
	}
}

// resolves returns an error if a name server answers for an outside name. A server that
// refuses or fails did not pass the query on, or got no answer.
func (t target) resolves(ctx context.Context, patience time.Duration) error {
	conn, err := t.dial(ctx, patience)
	if conn == nil {
		return nil // no server
	}
	defer conn.Close()
	if err != nil {
		return err
	}
	name := outsideName()
	query := question(name)
	if t.network == "tcp" {
		query = append(binary.BigEndian.AppendUint16(nil, uint16(len(query))), query...)
	}
	if _, err := conn.Write(query); err != nil {
		return nil
	}
	said, err := receive(conn, t.network)
	switch {
	case err != nil && len(said) == 0:
		return nil // no answer
	case err != nil || len(said) < headerSize:
		return fmt.Errorf("the name server %s answers", t.at)
	}
	const (
		serverFailure = 2
		refused       = 5
	)
	switch code := said[3] & 0xf; code {
	case serverFailure, refused:
		return nil
	default:
		return fmt.Errorf("the name server %s answers for %s (code %d): the question left the sandbox", t.at, name, code)
	}
}

// receive returns the beginning of an answer. Over TCP its length precedes it.
func receive(conn net.Conn, network string) ([]byte, error) {
	buf := make([]byte, 2048)
	if network == "udp" {
		n, err := conn.Read(buf)
		return buf[:n], err
	}
	n, err := io.ReadAtLeast(conn, buf, 2+headerSize)
	return buf[min(2, n):n], err
}

// question is a query for the address of a name, as it goes over the wire.
func question(name string) []byte {
	var id [2]byte
	_, _ = rand.Read(id[:])                          // it never fails
	q := append(id[:], 1, 0, 0, 1, 0, 0, 0, 0, 0, 0) // recursion desired, one question
	for label := range strings.SplitSeq(name, ".") {
		q = append(append(q, byte(len(label))), label...)
	}
	return append(q, 0, 0, 1, 0, 1) // type A, class IN
}
