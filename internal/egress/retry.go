package egress

import (
	"errors"
	"io"
	"net"
	"os"
	"time"
)

// retryRandom is the random value of a server's hello that asks the client for another one
// (HelloRetryRequest, RFC 8446, 4.1.3).
const retryRandom = "\xcf\x21\xad\x74\xe5\x9a\x61\x11\xbe\x1d\x8c\x02\x1e\x65\xb8\x91" +
	"\xc2\xa2\x11\x16\x7a\xbb\x8c\x5e\x07\x9e\x09\xe2\xc8\xa8\x33\x9c"

// checkHellos passes on the records of the client until the server has answered. Until then
// the only handshake message of a client is a hello: the server can want a second one,
// and take the name in it. Each must name the host, and the server sees it when it is
// checked. Other records can come before it: early data, and the change of ciphers that
// clients send for the sake of old proxies. What is no TLS is refused.
//
// A server that has answered accepts no further hello in plain text.
func (t *tunnel) checkHellos() (sent int64, refused error) {
	from := io.MultiReader(t.rest, &patientReader{t, t.client})
	for {
		in := &recordReader{from: from}
		kind, body, err := in.next()
		if err == nil && kind == recordHandshake && !t.answered.Load() {
			var name string
			if name, err = in.hello(body); err == nil {
				err = compareName(name, t.host)
			}
		}
		// A client that reacts to the answer does so after it was noted.
		answered := t.answered.Load()
		switch {
		case err == nil || answered:
			sent += t.pass(t.server, in.raw)
		case !errors.Is(err, errShortHello):
			return sent, err
		}
		if err != nil || answered {
			return sent + t.passRest(), nil // copyBytes meets the end of the client, too
		}
	}
}

// passRest passes on what is left of the bytes that came before the tunnel.
func (t *tunnel) passRest() int64 {
	rest, _ := io.ReadAll(t.rest)
	return t.pass(t.server, rest)
}

// awaitAnswer passes on the records of the server until it has answered. The answer is noted
// before the client gets it. A server that does not speak TLS has not answered.
func (t *tunnel) awaitAnswer() (received int64) {
	var messages []byte
	for {
		in := &recordReader{from: &patientReader{t, t.server}}
		kind, body, err := in.next()
		if err == nil && kind == recordHandshake {
			messages = append(messages, body...)
			var answered bool
			if answered, messages = findAnswer(messages); answered {
				t.answered.Store(true)
			}
		}
		received += t.pass(t.client, in.raw)
		if err != nil || len(messages) > maxHello || t.answered.Load() {
			return received
		}
	}
}

// findAnswer looks for a hello of the server that is not a request for another hello of the
// client, and returns the message at the end that is not complete.
func findAnswer(messages []byte) (found bool, rest []byte) {
	for {
		length := messageLength(messages)
		if length == 0 || len(messages) < length {
			return false, messages
		}
		in := octets{data: messages[:length]}
		kind := in.number(1)
		in.skip(3 + 2) // length, version
		random := in.part(len(retryRandom))
		if kind == messageAnswer && !in.broken && string(random.data) != retryRandom {
			return true, nil
		}
		messages = messages[length:]
	}
}

// pass writes bytes. If that fails, the tunnel ends: both connections are closed, and the
// next read fails.
func (t *tunnel) pass(to net.Conn, data []byte) int64 {
	if len(data) == 0 {
		return 0
	}
	_ = to.SetWriteDeadline(time.Now().Add(t.idle))
	n, err := to.Write(data)
	if err != nil {
		t.close()
	}
	return int64(n)
}

// A patientReader reads from one side of a tunnel until nothing has flowed for too long.
type patientReader struct {
	tunnel *tunnel
	from   net.Conn
}

func (p *patientReader) Read(b []byte) (int, error) {
	for {
		_ = p.from.SetReadDeadline(time.Now().Add(p.tunnel.idle / windows))
		n, err := p.from.Read(b)
		if n > 0 {
			p.tunnel.active.Store(int64(time.Since(p.tunnel.begin)))
		}
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) || p.tunnel.isSilent() {
			return n, err
		}
	}
}
