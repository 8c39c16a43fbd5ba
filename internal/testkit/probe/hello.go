package probe

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// helloRows open a tunnel to the allowed host and say something else in it.
func helloRows(c Config) []Row {
	open := c.Open()
	within := func(id, what, reason string, say func(t *tunnel) Result) Row {
		return Row{ID: "hello-" + id, Promise: "N8", What: what, Want: []string{Cut}, Event: "blocked " + reason + " " + open, Asks: open, run: func(ctx context.Context, p *Probe) Result {
			t, err := p.say(ctx, connect(open+":443"))
			if err != nil {
				return Result{Outcome: Broken, Detail: err.Error()}
			}
			defer t.Close()
			if t.status != http.StatusOK {
				return Result{Tried: 1, Outcome: Refused, Detail: fmt.Sprintf("%d %s", t.status, t.reason)}
			}
			return say(t)
		}}
	}
	named := func(name string) func(*tunnel) Result {
		return func(t *tunnel) Result { return fetch(t, name, &tls.Config{ServerName: name}) }
	}
	speak := func(text string) func(*tunnel) Result {
		return func(t *tunnel) Result {
			if _, err := io.WriteString(t, text); err != nil {
				return Result{Tried: 1, Outcome: Cut, Detail: err.Error()}
			}
			return heard(t)
		}
	}
	pieces := within("pieces", "control: the right name, in pieces of one byte", "", func(t *tunnel) Result {
		t.Conn = trickle{t.Conn}
		return fetch(t, open, &tls.Config{ServerName: open})
	})
	pieces.Want, pieces.Event = []string{Reached}, "allowed "+open
	silent := within("silent", "nothing at all, and the end", "hello", func(t *tunnel) Result {
		if half, ok := t.Conn.(*net.TCPConn); ok {
			_ = half.CloseWrite()
		}
		return heard(t)
	})
	return []Row{
		within("other", "TLS that names a host that is not allowed (domain fronting)", "servername", named(c.name("fronted.test"))),
		within("allowed", "TLS that names another allowed host", "servername", named("x."+c.Wild())),
		within("provider", "TLS that names the model's service", "servername", named(c.Provider)),
		within("none", "TLS without a server name", "servername", func(t *tunnel) Result { return fetch(t, open, &tls.Config{}) }),
		within("plain", "plain HTTP in the tunnel", "hello", speak("GET / HTTP/1.1\r\nHost: "+open+"\r\n\r\n")),
		within("ssh", "SSH in the tunnel", "hello", speak("SSH-2.0-probe\r\n")),
		within("proxy", "another CONNECT in the tunnel", "hello", speak("CONNECT "+c.name("blocked.test")+":443 HTTP/1.1\r\n\r\n")),
		within("noise", "bytes that look like a hello and are none", "hello", speak("\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00")),
		silent, pieces,
	}
}

// trickle sends one byte at a time.
type trickle struct{ net.Conn }

func (s trickle) Write(p []byte) (int, error) {
	for i := range p {
		if i < 300 { // the rest may go at once; patience is not what is tested
			if tcp, ok := s.Conn.(*net.TCPConn); ok {
				_ = tcp.SetNoDelay(true)
			}
			if _, err := s.Conn.Write(p[i : i+1]); err != nil {
				return i, err
			}
			continue
		}
		n, err := s.Conn.Write(p[i:])
		return i + n, err
	}
	return len(p), nil
}

// SetDeadline keeps the deadline of the attempt: TLS would clear it.
func (s trickle) SetDeadline(t time.Time) error { return s.Conn.SetDeadline(t) }
