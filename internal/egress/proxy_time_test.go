package egress

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"
)

// inTime serves one client in a bubble, where hours pass in no time: both its connections
// are pipes. The test plays client and server.
func inTime(t *testing.T, play func(client, server net.Conn), check func(lines []Line, took time.Duration)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		client, near := net.Pipe()
		far, server := net.Pipe()
		n := &network{names: names1(map[string]string{"a.example.com": "8.8.8.8"})}
		allow, err := ParseAllowlist([]string{"a.example.com"})
		if err != nil {
			t.Fatal(err)
		}
		var lines []Line
		p := &Proxy{
			listeners: []compiledListener{{Listener: Listener{Name: "g"}, allow: allow}}, limits: usualLimits, resolver: n,
			connect: func(context.Context, string, string) (net.Conn, error) { return far, nil },
			slots:   newSlots(1, 1), pending: make([]pendingConns, 1), rateLimiters: []*rate.Limiter{newRateLimiter()}, answers: make(chan struct{}, 1),
		}
		p.reporter = newReporter(func(l Line) error { lines = append(lines, l); return nil }, func(error) {})
		begin := time.Now()
		played := make(chan struct{})
		go func() { play(client, server); close(played) }()
		p.serve(t.Context(), 0, near)
		took := time.Since(begin)
		p.reporter.close()
		_, _ = io.Copy(io.Discard, client) // it is closed, or this would hang
		_, _ = io.Copy(io.Discard, server)
		<-played
		check(lines, took)
	})
}

// greet asks for the tunnel, takes the 200, and says hello.
func greet(t *testing.T, client net.Conn) {
	t.Helper()
	_, _ = io.WriteString(client, connectTo("a.example.com"))
	if _, err := io.ReadFull(client, make([]byte, len(established))); err != nil {
		t.Error(err)
	}
	_, _ = client.Write(cut(handmade(names("a.example.com")), 1000))
}

func TestProxyTimeLimits(t *testing.T) {
	hello := cut(handmade(names("a.example.com")), 1000)
	drip := func(conn net.Conn, text []byte, every time.Duration) {
		for i := range text {
			if _, err := conn.Write(text[i : i+1]); err != nil {
				return
			}
			time.Sleep(every)
		}
	}
	for what, test := range map[string]struct {
		play   func(client, server net.Conn)
		reason string // of the refusal
		took   time.Duration
	}{
		"half a request": {func(client, server net.Conn) {
			_, _ = io.WriteString(client, "CONNECT a.exam")
			server.Close()
		}, ReasonRequest, 10 * time.Second},
		"a slow request": {func(client, server net.Conn) {
			drip(client, []byte(connectTo("a.example.com")), 3*time.Second)
			server.Close()
		}, ReasonRequest, 10 * time.Second},
		"no hello": {func(client, _ net.Conn) {
			_, _ = io.WriteString(client, connectTo("a.example.com"))
			_, _ = io.Copy(io.Discard, client)
		}, ReasonHello, 10 * time.Second},
		"a slow hello": {func(client, _ net.Conn) {
			_, _ = io.WriteString(client, connectTo("a.example.com"))
			_, _ = io.ReadFull(client, make([]byte, len(established)))
			drip(client, hello, time.Second)
		}, ReasonHello, 10 * time.Second},
		"silence": {func(client, server net.Conn) {
			greet(t, client)
			_, _ = io.Copy(io.Discard, server)
		}, "", 10 * time.Minute},
		"the client talks": {func(client, server net.Conn) {
			greet(t, client)
			go func() { _, _ = io.Copy(io.Discard, server) }()
			drip(client, earlyData(make([]byte, 5)), 9*time.Minute)
		}, "", 91 * time.Minute},
		"the server talks": {func(client, server net.Conn) {
			greet(t, client)
			_, _ = io.ReadFull(server, make([]byte, len(hello)))
			go func() { _, _ = io.Copy(io.Discard, client) }()
			drip(server, make([]byte, 10), 9*time.Minute)
		}, "", 91 * time.Minute},
		"a client that takes nothing": {func(client, server net.Conn) {
			greet(t, client)
			_, _ = io.ReadFull(server, make([]byte, len(hello)))
			_, _ = server.Write(make([]byte, 1<<20))
		}, "", 10 * time.Minute},
		"a client that talks and takes nothing": {func(client, server net.Conn) {
			greet(t, client)
			_, _ = io.ReadFull(server, make([]byte, len(hello)))
			go func() { _, _ = server.Write(make([]byte, 1<<20)) }()
			go func() { _, _ = io.Copy(io.Discard, server) }()
			drip(client, earlyData(make([]byte, 95)), time.Minute)
		}, "", 10 * time.Minute},
		"talk without end": {func(client, server net.Conn) {
			greet(t, client)
			go func() { _, _ = io.Copy(io.Discard, server) }()
			drip(client, earlyData(make([]byte, 10_000)), time.Minute)
		}, "", 24 * time.Hour},
	} {
		inTime(t, test.play, func(lines []Line, took time.Duration) {
			switch {
			case len(lines) == 0 || lines[0].Access == nil || lines[0].Access.Reason != test.reason || lines[0].Access.Allowed != (test.reason == ""):
				t.Errorf("%s: reported %+v", what, lines)
			case test.reason == "" && (len(lines) != 2 || lines[1].Closed == nil), test.reason != "" && len(lines) != 1:
				t.Errorf("%s: reported %+v", what, lines)
			}
			if took < test.took || took > test.took+3*time.Minute {
				t.Errorf("%s: it took %v, want %v", what, took, test.took)
			}
		})
	}
	// Who says nothing at all asked for nothing.
	inTime(t, func(_, server net.Conn) { server.Close() }, func(lines []Line, took time.Duration) {
		if len(lines) != 0 || took != 10*time.Second {
			t.Errorf("nothing: reported %+v after %v", lines, took)
		}
	})
}

// A reader of the lines that hangs stops the proxy: it neither waits for ever nor
// continues without it.
func TestReportHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, fail := context.WithCancelCause(t.Context())
		wake := make(chan struct{})
		r := newReporter(func(Line) error { <-wake; return nil }, fail)
		for range 3 { // only the first waits
			if err := r.report(Line{}); !errors.Is(err, errUnreported) {
				t.Errorf("got %v", err)
			}
		}
		r.close()
		if !errors.Is(context.Cause(ctx), errUnreported) {
			t.Errorf("the proxy continues: %v", context.Cause(ctx))
		}
		close(wake)
	})
}
