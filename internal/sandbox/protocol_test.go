package sandbox

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func samples() []message {
	return []message{
		{kind: kindStart, id: 1, path: "/bin/sh", argv: []string{"sh", "", "\x00\xff"}, env: []string{"A=b"}, policy: "{}"},
		{kind: kindStart, id: 1<<64 - 1},
		{kind: kindSignal, id: 2, signal: 15},
		{kind: kindSignal, id: 2, signal: 9, text: "more than 4 GiB added to the disk"},
		{kind: kindHello, text: "why not"},
		{kind: kindStarted, id: 3},
		{kind: kindFailed, id: 4, errno: 2},
		{kind: kindFailed, id: 4, text: "no policy"},
		{kind: kindEnded, id: 5, code: 7, signal: 9},
		{kind: kindEnded, id: 5, signal: 9, text: "more than 128 processes"},
	}
}

func TestMessages(t *testing.T) {
	for _, m := range samples() {
		data, err := m.encode()
		if err != nil {
			t.Fatal(err)
		}
		if n, err := bodySize(data, maxMessage); err != nil || n != len(data)-headerSize {
			t.Fatalf("%d, %v", n, err)
		}
		got, err := decode(data)
		if diff := cmp.Diff(m, got, cmp.AllowUnexported(message{})); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
		body := data[headerSize:]
		for cut := range body { // no part of it is a message
			if _, err := decode(framed(m.kind, body[:cut])); !errors.Is(err, errProtocol) {
				t.Errorf("%d of %d bytes: %v", cut, len(body), err)
			}
		}
		if _, err := decode(framed(m.kind, append(body, 0))); !errors.Is(err, errProtocol) {
			t.Errorf("one byte more: %v", err)
		}
		for cut := range data { // nor is one whose header says something else
			if _, err := decode(data[:cut]); !errors.Is(err, errProtocol) {
				t.Errorf("%d of %d bytes: %v", cut, len(data), err)
			}
		}
	}
	for _, k := range []kind{0, kindEnded + 1, 255} {
		if _, err := decode(framed(k, nil)); !errors.Is(err, errProtocol) {
			t.Errorf("kind %d: %v", k, err)
		}
	}
	if _, err := bodySize([]byte{0, 0, 0x10, 1, 1}, maxAnswer); !errors.Is(err, errProtocol) {
		t.Errorf("a message that is too long: %v", err)
	}
}

// framed puts a header before a body.
func framed(k kind, body []byte) []byte {
	return append(append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), byte(k)), body...)
}

// Whatever arrives is a message or an error, and takes no more memory than its size.
func FuzzDecode(f *testing.F) {
	for _, m := range samples() {
		data, _ := m.encode()
		f.Add(byte(m.kind), data[headerSize:])
	}
	f.Fuzz(func(t *testing.T, k byte, body []byte) {
		m, err := decode(framed(kind(k), body))
		if err != nil {
			return
		}
		if len(m.argv) > len(body) || len(m.env) > len(body) {
			t.Errorf("%d bytes became %d and %d strings", len(body), len(m.argv), len(m.env))
		}
		again, err := m.encode()
		if err != nil {
			t.Fatal(err)
		}
		if back, err := decode(again); err != nil || !cmp.Equal(m, back, cmp.AllowUnexported(message{})) {
			t.Errorf("%+v came back as %+v, %v", m, back, err)
		}
	})
}
