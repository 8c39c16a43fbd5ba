package outside

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"time"
)

// The types of questions that have an answer here, and those that are worth a name.
const (
	typeA     = 1
	typeCNAME = 5
	typeTXT   = 16
	typeAAAA  = 28
)

var typeNames = map[uint16]string{typeA: "A", 2: "NS", typeCNAME: "CNAME", 12: "PTR", 15: "MX", typeTXT: "TXT", typeAAAA: "AAAA", 33: "SRV", 255: "ANY"}

// A nameServer answers over UDP and TCP.
type nameServer struct {
	*entryWriter
	liar *liar
}

func (s *nameServer) packets(conn net.PacketConn) {
	buf := make([]byte, 4096)
	for {
		n, from, err := conn.ReadFrom(buf)
		if err != nil {
			return
		}
		query := append([]byte(nil), buf[:n]...)
		go func() { // a slow answer must not hold up the others
			if reply := s.reply(query, from.String(), "udp"); reply != nil {
				_, _ = conn.WriteTo(reply, from)
			}
		}()
	}
}

func (s *nameServer) connection(_ context.Context, conn net.Conn) {
	defer conn.Close()
	for {
		var size [2]byte
		if _, err := io.ReadFull(conn, size[:]); err != nil {
			return
		}
		query := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(conn, query); err != nil {
			return
		}
		reply := s.reply(query, conn.RemoteAddr().String(), "tcp")
		if reply == nil {
			return
		}
		if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...)); err != nil {
			return
		}
	}
}

// reply answers one question; nil if it is none.
func (s *nameServer) reply(query []byte, from, network string) []byte {
	name, kind, end, err := question(query)
	if err != nil {
		s.tell(Entry{Kind: KindPacket, From: from, Port: 53, Text: clip(query, 200)})
		return nil
	}
	label := typeNames[kind]
	if label == "" {
		label = "other"
	}
	s.tell(Entry{Kind: KindQuery, From: from, Port: 53, Name: name, Type: label, Text: network})
	a := s.liar.find(name, kind == typeA)
	if a.delay > 0 {
		time.Sleep(a.delay)
	}
	return compose(query[:end], a, kind)
}

// question reads the first question of a message, and where it ends.
func question(m []byte) (name string, kind uint16, end int, err error) {
	bad := errors.New("not a question")
	if len(m) < 12 || m[2]&0x80 != 0 || binary.BigEndian.Uint16(m[4:]) != 1 {
		return "", 0, 0, bad
	}
	var labels []string
	at := 12
	for {
		if at >= len(m) {
			return "", 0, 0, bad
		}
		n := int(m[at])
		at++
		if n == 0 {
			break
		}
		if n > 63 || at+n > len(m) {
			return "", 0, 0, bad
		}
		labels = append(labels, strings.ToLower(clip(m[at:at+n], 63)))
		at += n
	}
	if at+4 > len(m) {
		return "", 0, 0, bad
	}
	return strings.Join(labels, "."), binary.BigEndian.Uint16(m[at:]), at + 4, nil
}

// compose writes the answer to a message with one question.
func compose(query []byte, a answer, kind uint16) []byte {
	var records [][]byte
	owner := []byte{0xc0, 12} // the name of the question
	add := func(owner []byte, kind uint16, data []byte) {
		r := append([]byte(nil), owner...)
		r = binary.BigEndian.AppendUint16(r, kind)
		r = append(r, 0, 1, 0, 0, 0, 0) // class IN, not to be kept
		r = binary.BigEndian.AppendUint16(r, uint16(len(data)))
		records = append(records, append(r, data...))
	}
	if a.alias != "" {
		target := encodeName(a.alias)
		add(owner, typeCNAME, target)
		owner = target
	}
	for _, addr := range a.addresses {
		if addr.Is4() && kind == typeA || !addr.Is4() && kind == typeAAAA {
			add(owner, kind, rawAddress(addr))
		}
	}
	if kind == typeTXT && !a.none {
		add(owner, typeTXT, append([]byte{4}, "text"...))
	}
	m := append([]byte(nil), query...)
	m[2], m[3] = 0x80|query[2]&0x01|0x04, 0x80 // an answer, by who knows; recursion is offered
	if a.none {
		m[3] |= 3
		records = nil
	}
	binary.BigEndian.PutUint16(m[6:], uint16(len(records)))
	copy(m[8:12], []byte{0, 0, 0, 0})
	for _, r := range records {
		m = append(m, r...)
	}
	return m
}

func rawAddress(a netip.Addr) []byte { return a.AsSlice() }

func encodeName(name string) []byte {
	var out []byte
	for label := range strings.SplitSeq(name, ".") {
		out = append(append(out, byte(len(label))), label...)
	}
	return append(out, 0)
}
