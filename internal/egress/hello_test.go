package egress

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// realHello returns what crypto/tls sends first.
func realHello(t testing.TB, config *tls.Config) []byte {
	t.Helper()
	conn := &deaf{in: strings.NewReader("")}
	_ = tls.Client(conn, config).HandshakeContext(t.Context())
	if len(conn.heard) == 0 {
		t.Fatal("there is no hello")
	}
	return conn.heard
}

// message takes the message out of the records, and cut puts it into others.
func message(t testing.TB, records []byte) (out []byte) {
	t.Helper()
	for len(records) > 0 {
		n := int(binary.BigEndian.Uint16(records[3:]))
		out = append(out, records[5:5+n]...)
		records = records[5+n:]
	}
	return out
}

func cut(message []byte, sizes ...int) (out []byte) {
	for i := 0; len(message) > 0; i++ {
		n := min(len(message), sizes[min(i, len(sizes)-1)])
		out = append(out, recordHandshake, 3, 1, byte(n>>8), byte(n))
		out = append(out, message[:n]...)
		message = message[n:]
	}
	return out
}

// handmade builds a hello with these extensions.
func handmade(extensions ...[]byte) []byte {
	all := bytes.Join(extensions, nil)
	body := append([]byte{3, 3}, make([]byte, 32)...)
	body = append(body, 0)                // session
	body = append(body, 0, 2, 0x13, 0x01) // ciphers
	body = append(body, 1, 0)             // compressions
	body = binary.BigEndian.AppendUint16(body, uint16(len(all)))
	body = append(body, all...)
	return append([]byte{messageHello, byte(len(body) >> 16), byte(len(body) >> 8), byte(len(body))}, body...)
}

func extension(kind uint16, body []byte) []byte {
	out := binary.BigEndian.AppendUint16(nil, kind)
	out = binary.BigEndian.AppendUint16(out, uint16(len(body)))
	return append(out, body...)
}

func names(list ...string) []byte {
	var all []byte
	for _, name := range list {
		all = append(all, 0)
		all = binary.BigEndian.AppendUint16(all, uint16(len(name)))
		all = append(all, name...)
	}
	return extension(extServerName, append(binary.BigEndian.AppendUint16(nil, uint16(len(all))), all...))
}

// A hello of a real client is understood however it is cut, and is sent on as it came.
func TestReadHello(t *testing.T) {
	for name, config := range map[string]*tls.Config{
		"newest": {ServerName: "api.example.com", InsecureSkipVerify: true}, //nolint:gosec // nothing is verified here
		"1.2":    {ServerName: "api.example.com", MaxVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}},
		"large":  {ServerName: "api.example.com", NextProtos: strings.Split(strings.Repeat("a-protocol-with-a-name ", 1500), " ")[:1500]},
	} {
		raw := realHello(t, config)
		text := message(t, raw)
		for form, data := range map[string][]byte{
			"as sent": raw, "bytes": cut(text[:min(len(text), 9000)], 1), "halves": cut(text, min(len(text)/2, 16000), 16000), "head": cut(text, 2, 1, 3, 16000), "large": cut(text, 16384),
		} {
			if form == "bytes" && len(text) > 9000 {
				continue
			}
			// What follows the hello is not read.
			in := bytes.NewReader(append(bytes.Clone(data), "\x14\x03\x03\x00\x01\x01"...))
			for _, r := range []io.Reader{in, iotest.OneByteReader(in)} {
				_, _ = in.Seek(0, io.SeekStart)
				sent, server, err := readHello(r)
				if err != nil || server != "api.example.com" || !bytes.Equal(sent, data) || in.Len() != 6 {
					t.Errorf("%s, %s: got %q, %v, %d bytes of %d, %d left", name, form, server, err, len(sent), len(data), in.Len())
				}
			}
			for _, n := range []int{0, 1, 4, 5, 8, 9, 40, len(data) - 1} {
				if _, _, err := readHello(bytes.NewReader(data[:n])); !errors.Is(err, errShortHello) {
					t.Errorf("%s, %s, %d bytes: %v", name, form, n, err)
				}
			}
		}
	}
}

// Promise N8: a hello that names no server, several, or hides the name is refused, and so
// is what is no hello.
func TestReadHelloRefuses(t *testing.T) {
	good := names("a.example")
	long := extension(21, make([]byte, maxHello-30))
	deep := handmade(good)
	deep[3]-- // one byte less than it has
	for what, test := range map[string]struct {
		data []byte
		want error
	}{
		"no name":           {realHello(t, &tls.Config{ServerName: "127.0.0.1"}), errNoName},
		"no extension":      {cut(handmade(), 1000), errNoName},
		"older":             {cut(older(), 1000), errNoName},
		"empty name":        {cut(handmade(names("")), 1000), errNoName},
		"two names":         {cut(handmade(names("a.example", "b.example")), 1000), errTwoNames},
		"two extensions":    {cut(handmade(good, names("b.example")), 1000), errNoHello},
		"empty list":        {cut(handmade(extension(0, []byte{0, 0})), 1000), errNoHello},
		"other kind":        {cut(handmade(extension(0, []byte{0, 4, 1, 0, 1, 'a'})), 1000), errNoHello},
		"rest in the list":  {cut(handmade(extension(0, append(names("a.example")[4:], 0))), 1000), errNoHello},
		"hidden":            {cut(handmade(good, extension(extHidden, []byte{0})), 1000), errHidden},
		"hidden, old":       {cut(handmade(extension(extHiddenOld, nil), good), 1000), errHidden},
		"cut extension":     {cut(handmade(good, []byte{0, 1, 0, 9}), 1000), errNoHello},
		"rest":              {cut(deep, 1000), errNoHello},
		"two hellos":        {cut(append(handmade(good), handmade(names("b.example"))...), 1000), errNoHello},
		"long":              {cut(handmade(good, long), maxRecord), errLongHello},
		"announced as long": {cut([]byte{1, 0xff, 0xff, 0xff}, 100), errLongHello},
		"many small":        {cut(handmade(good, extension(21, make([]byte, 30000))), 1), errLongHello},
		"plain":             {[]byte("GET / HTTP/1.1\r\n\r\n"), errNoHello},
		"one letter":        {[]byte("G"), errNoHello},
		"SSL 2":             {[]byte{0x80, 0x2e, 1, 0, 2}, errNoHello},
		"alert":             {[]byte{21, 3, 3, 0, 2, 1, 0}, errNoHello},
		"other message":     {cut([]byte{2, 0, 0, 1, 0}, 1), errNoHello},
		"version":           {[]byte{22, 4, 1, 0, 1, 1}, errNoHello},
		"empty record":      {[]byte{22, 3, 1, 0, 0}, errNoHello},
		"large record":      {[]byte{22, 3, 1, 0x40, 1}, errNoHello},
		"alert between":     {append(cut(handmade(good)[:10], 100), 21, 3, 3, 0, 2, 1, 0), errNoHello},
	} {
		if _, name, err := readHello(bytes.NewReader(test.data)); !errors.Is(err, test.want) || name != "" {
			t.Errorf("%s: got %q, %v; want %v", what, name, err, test.want)
		}
	}
	if _, name, err := readHello(bytes.NewReader(cut(handmade(good), 1000))); err != nil || name != "a.example" {
		t.Errorf("what the others are made of: %q, %v", name, err)
	}
}

// older is a hello that ends where extensions begin.
func older() []byte {
	h := handmade()
	h = h[:len(h)-2]
	h[3] -= 2
	return h
}

// What a name is, crypto/tls and we agree on, for whatever it accepts.
func FuzzHello(f *testing.F) {
	raw := realHello(f, &tls.Config{ServerName: "api.example.com"})
	f.Add(raw)
	f.Add(cut(message(f, raw), 3, 100))
	f.Add(cut(handmade(names("a.example"), extension(43, []byte{2, 3, 4})), 10))
	f.Add(cut(handmade(names("a.example", "b.example")), 10))
	f.Fuzz(func(t *testing.T, data []byte) {
		sent, got, err := readHello(bytes.NewReader(data))
		if !bytes.HasPrefix(data, sent) {
			t.Fatalf("what is sent on is not what came")
		}
		seen := false
		var name string
		config := &tls.Config{GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
			seen, name = true, h.ServerName
			return nil, io.EOF
		}}
		_ = tls.Server(&deaf{in: bytes.NewReader(data)}, config).HandshakeContext(t.Context())
		if err == nil && seen && name != got {
			t.Fatalf("crypto/tls reads %q, we %q", name, got)
		}
	})
}

// deaf is a connection that takes everything and says what it was given.
type deaf struct {
	net.Conn
	in    io.Reader
	heard []byte
}

func (d *deaf) Read(p []byte) (int, error)       { return d.in.Read(p) }
func (d *deaf) Write(p []byte) (int, error)      { d.heard = append(d.heard, p...); return len(p), nil }
func (d *deaf) Close() error                     { return nil }
func (d *deaf) SetDeadline(time.Time) error      { return nil }
func (d *deaf) SetWriteDeadline(time.Time) error { return nil }
func (d *deaf) SetReadDeadline(time.Time) error  { return nil }
