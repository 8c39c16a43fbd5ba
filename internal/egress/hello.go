package egress

import (
	"errors"
	"fmt"
	"io"
	"slices"
)

// maxHello bounds the first message of TLS. Those of browsers have less than 4 KB.
const maxHello = 64 << 10

// Numbers of TLS records, messages and extensions.
const (
	recordFirst     = 20 // change of ciphers; then alerts, handshake, data
	recordHandshake = 22
	recordLast      = 24
	maxRecord       = 16 << 10
	maxEncrypted    = maxRecord + 2048
	messageHello    = 1
	messageAnswer   = 2 // the hello of the server

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
	errOtherName  = errors.New("the TLS hello names another server")
)

// readHello reads the first message of TLS, however it is cut into records and packets, and
// no more. It returns the name of the server as the client spells it, and in any case all
// that was read.
func readHello(r io.Reader) (raw []byte, name string, err error) {
	in := &recordReader{from: r}
	kind, body, err := in.next()
	if err == nil && kind != recordHandshake {
		err = errNoHello
	}
	if err == nil {
		name, err = in.hello(body)
	}
	return in.raw, name, err
}

// compareName says what is wrong with the name in a hello for a host, as [ParseHost]
// returns it.
func compareName(name, host string) error {
	if named, err := ParseHost(name); err != nil || named != host {
		return errOtherName
	}
	return nil
}

// reasonOf is the reason for refusing a hello.
func reasonOf(err error) string {
	for _, known := range []error{errNoName, errTwoNames, errHidden, errOtherName} {
		if errors.Is(err, known) {
			return ReasonServerName
		}
	}
	return ReasonHello
}

// A recordReader reads no more than the records it is asked for, and keeps all of them.
type recordReader struct {
	from io.Reader
	raw  []byte
}

// next reads one record and returns what it holds.
func (r *recordReader) next() (kind byte, body []byte, err error) {
	// The first byte is checked at once: a client of another protocol may send no more. SSL
	// 2, which has no server name, begins with another byte.
	first, err := r.read(1)
	if err != nil {
		return 0, nil, err
	}
	if kind = first[0]; kind < recordFirst || kind > recordLast {
		return 0, nil, errNoHello
	}
	header, err := r.read(4)
	if err != nil {
		return 0, nil, err
	}
	length := int(header[2])<<8 | int(header[3])
	if header[0] != 3 || length > maxEncrypted || kind == recordHandshake && (length == 0 || length > maxRecord) {
		return 0, nil, errNoHello
	}
	body, err = r.read(length)
	return kind, body, err
}

// hello reads the rest of a hello that begins in a record, and returns the name in it.
func (r *recordReader) hello(body []byte) (string, error) {
	message := slices.Clone(body)
	for {
		if message[0] != messageHello {
			return "", errNoHello
		}
		switch length := messageLength(message); {
		case length > maxHello:
			return "", errLongHello
		case len(message) == length:
			return serverName(message)
		case length > 0 && len(message) > length:
			// A second message in the record may be a second hello, with another name.
			return "", errNoHello
		}
		kind, more, err := r.next()
		switch {
		case err != nil:
			return "", err
		case kind != recordHandshake:
			return "", errNoHello
		}
		message = append(message, more...)
	}
}

// messageLength is the length of the first message in these bytes, and 0 if its head is not
// complete.
func messageLength(b []byte) int {
	if len(b) < 4 {
		return 0
	}
	return 4 + (int(b[1])<<16 | int(b[2])<<8 | int(b[3]))
}

// read returns the next n bytes. Memory grows with what was sent, not with what was
// announced.
func (r *recordReader) read(n int) ([]byte, error) {
	start := len(r.raw)
	if start+n > maxHello {
		return nil, errLongHello
	}
	for len(r.raw) < start+n {
		chunk := make([]byte, min(start+n-len(r.raw), 4<<10))
		got, err := io.ReadFull(r.from, chunk)
		r.raw = append(r.raw, chunk[:got]...)
		if err != nil {
			return nil, errShortHello
		}
	}
	return r.raw[start:], nil
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
