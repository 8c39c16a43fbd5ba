package egress

import (
	"errors"
	"fmt"
	"io"
)

// maxHello bounds the first message of TLS. Those of browsers have less than 4 KB.
const maxHello = 64 << 10

// Numbers of TLS records, messages and extensions.
const (
	recordHandshake = 22
	maxRecord       = 16 << 10
	messageHello    = 1

	extServerName = 0
	extHiddenOld  = 0xffce // a draft of encrypted client hello
	extHidden     = 0xfe0d // encrypted client hello
)

var (
	errNoHello    = errors.New("what follows is not the beginning of TLS")
	errNoName     = errors.New("the TLS hello names no server")
	errHidden     = errors.New("the TLS hello hides the name of its server (ECH)")
	errShortHello = errors.New("the TLS hello ended too soon, or took too long")
	errLongHello  = fmt.Errorf("the TLS hello has more than %d bytes", maxHello)
	errTwoNames   = errors.New("the TLS hello names several servers")
)

// readHello reads the first message of TLS, however it is cut into records and packets.
// early is what was read before. It returns the name of the server as the client spells it,
// and in any case all that was read, to be sent on, also what follows the hello.
func readHello(r io.Reader, early []byte) (raw []byte, name string, err error) {
	in := &helloReader{from: r, early: early}
	name, err = in.name()
	return append(in.raw, in.early...), name, err
}

// A helloReader reads no more than belongs to the hello, and keeps all of it.
type helloReader struct {
	from  io.Reader
	early []byte
	raw   []byte
}

func (h *helloReader) name() (string, error) {
	var message []byte
	for {
		record, err := h.record()
		if err != nil {
			return "", err
		}
		message = append(message, record...)
		if message[0] != messageHello {
			return "", errNoHello
		}
		if len(message) < 4 {
			continue
		}
		switch length := 4 + (int(message[1])<<16 | int(message[2])<<8 | int(message[3])); {
		case length > maxHello:
			return "", errLongHello
		case len(message) == length:
			return serverName(message)
		case len(message) > length:
			// A second message in the record may be a second hello, with another name.
			return "", errNoHello
		}
	}
}

// record reads one record of the handshake and returns what it holds.
func (h *helloReader) record() ([]byte, error) {
	// The first byte is checked at once: a client of another protocol may send no more. SSL
	// 2, which has no server name, begins with another byte.
	if first, err := h.read(1); err != nil {
		return nil, err
	} else if first[0] != recordHandshake {
		return nil, errNoHello
	}
	header, err := h.read(4)
	if err != nil {
		return nil, err
	}
	length := int(header[2])<<8 | int(header[3])
	if header[0] != 3 || length == 0 || length > maxRecord {
		return nil, errNoHello
	}
	return h.read(length)
}

// read returns the next n bytes. Memory grows with what was sent, not with what was
// announced.
func (h *helloReader) read(n int) ([]byte, error) {
	start := len(h.raw)
	if start+n > maxHello {
		return nil, errLongHello
	}
	known := min(n, len(h.early))
	h.raw, h.early = append(h.raw, h.early[:known]...), h.early[known:]
	for len(h.raw) < start+n {
		chunk := make([]byte, min(start+n-len(h.raw), 4<<10))
		got, err := io.ReadFull(h.from, chunk)
		h.raw = append(h.raw, chunk[:got]...)
		if err != nil {
			return nil, errShortHello
		}
	}
	return h.raw[start:], nil
}

// serverName takes the one name out of a hello.
func serverName(message []byte) (string, error) {
	in := octets{data: message}
	in.skip(4 + 2 + 32) // type and length, version, random
	in.skip(in.number(1))
	in.skip(in.number(2)) // ciphers
	in.skip(in.number(1)) // compressions
	if !in.broken && len(in.data) == 0 {
		return "", errNoName // older than extensions
	}
	extensions := in.part(in.number(2))
	if in.broken || len(in.data) > 0 {
		return "", errNoHello
	}
	seen := map[int]bool{}
	name := ""
	for len(extensions.data) > 0 {
		kind := extensions.number(2)
		body := extensions.part(extensions.number(2))
		if extensions.broken || seen[kind] {
			return "", errNoHello
		}
		seen[kind] = true
		switch kind {
		case extHidden, extHiddenOld:
			// The name that counts would be an encrypted one.
			return "", errHidden
		case extServerName:
			list := body.part(body.number(2))
			what := list.number(1)
			text := list.part(list.number(2))
			switch {
			case body.broken || list.broken || len(body.data) > 0 || what != 0:
				return "", errNoHello
			case len(list.data) > 0:
				return "", errTwoNames
			}
			name = string(text.data)
		}
	}
	if name == "" {
		return "", errNoName
	}
	return name, nil
}

// octets reads numbers and parts off the front of data. After a part that is too long, it
// is broken and all further parts are empty.
type octets struct {
	data   []byte
	broken bool
}

func (o *octets) skip(n int) { o.part(n) }

func (o *octets) part(n int) octets {
	if n > len(o.data) {
		o.data, o.broken = nil, true
		return octets{broken: true}
	}
	head := o.data[:n]
	o.data = o.data[n:]
	return octets{data: head}
}

func (o *octets) number(size int) int {
	n := 0
	for _, b := range o.part(size).data {
		n = n<<8 | int(b)
	}
	return n
}
