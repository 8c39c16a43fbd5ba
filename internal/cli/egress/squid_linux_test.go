package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/egress"
	"github.com/perstack-go/perstack/internal/netaddr"
	"github.com/perstack-go/perstack/internal/testkit"
)

// What a name server says cannot lead anywhere else: every block of addresses that are not
// public, alone, among public ones, mapped, late, and in the second answer.
func TestSquidAddresses(t *testing.T) {
	t.Parallel()
	testkit.Need(t, "/usr/sbin/squid")
	if !onIsland(t) {
		return
	}
	land, names := newShore(t), newLiar(t)
	builtin, squid := contenders(t, []string{"*.dns.test"})
	type row struct {
		what           string
		answers        []told
		builtin, squid []string // for one request after the other
		why            string
	}
	refused, allowed := []string{"403 address"}, []string{"200 allowed"}
	rows := []row{
		{what: "public", answers: []told{{four: []string{webAddress}}}, builtin: allowed},
		{what: "no such name", builtin: []string{"502 resolve"}, squid: []string{"500 resolve"}, why: "another status"},
		{what: "no address", answers: []told{{}}, builtin: []string{"502 resolve"}, squid: []string{"500 resolve"}, why: "another status"},
		{what: "rebinding", answers: []told{{four: []string{webAddress}}, {four: []string{metadata}}}, builtin: []string{"200 allowed", "403 address"}, squid: []string{"200 allowed", "200 allowed"}, why: "Squid keeps the first answer for 30 seconds, and dials it"},
		{what: "rebinding the other way", answers: []told{{four: []string{metadata}}, {four: []string{webAddress}}}, builtin: []string{"403 address", "200 allowed"}, squid: []string{"403 address", "403 address"}, why: "Squid keeps the first answer"},
		{what: "private and late public IPv6", answers: []told{{four: []string{privateAddress}, six: []string{"2606:4700::1111"}, late6: 300 * time.Millisecond}}, builtin: refused},
		{what: "public and late loopback", answers: []told{{four: []string{webAddress}, six: []string{"::1"}, late6: 300 * time.Millisecond}}, builtin: refused},
		{what: "late private, public IPv6", answers: []told{{four: []string{privateAddress}, six: []string{"2606:4700::1111"}, late4: 300 * time.Millisecond}}, builtin: refused},
	}
	for _, block := range netaddr.NotPublic() {
		inside := block.Addr()
		if !block.IsSingleIP() {
			inside = inside.Next() // the first is that of the network
		}
		bad := inside.String()
		if block.Addr().Is4() {
			rows = append(rows,
				row{what: bad, answers: []told{{four: []string{bad}}}, builtin: refused},
				row{what: bad + " and a public one", answers: []told{{four: []string{webAddress, bad}}}, builtin: refused},
				row{what: bad + " mapped", answers: []told{{four: []string{webAddress}, six: []string{"::ffff:" + bad}}}, builtin: refused})
			continue
		}
		rows = append(rows, row{what: bad + " and a public one", answers: []told{{four: []string{webAddress}, six: []string{bad}}}, builtin: refused})
	}
	table := []string{fmt.Sprintf("%-44s %-28s %-28s %s", "the name server says", "builtin", "squid", "why they differ")}
	for i, r := range rows {
		if r.squid == nil {
			r.squid = r.builtin
		}
		var got [2][]string
		for k, c := range []*contender{builtin, squid} {
			name := fmt.Sprintf("n%d.dns.test", i)
			names.tell(name, r.answers...)
			want := [][]string{r.builtin, r.squid}[k]
			for range want {
				verdict, _ := c.verdict(t, 0, connect(name), helloFor(t, name))
				got[k] = append(got[k], verdict)
			}
			if !slices.Equal(got[k], want) {
				t.Errorf("%s: %s says %q, want %q", r.what, c.name, got[k], want)
			}
			for _, at := range land.seen(t) {
				if at != webAddress {
					t.Errorf("%s: with %s it came ashore at %s", r.what, c.name, at)
				}
			}
		}
		table = append(table, fmt.Sprintf("%-44s %-28s %-28s %s", r.what, strings.Join(got[0], ", "), strings.Join(got[1], ", "), r.why))
	}
	t.Log("\n" + strings.Join(table, "\n"))
}

// What Squid cannot do: it does not look into the tunnel, and it tells of a tunnel when
// that is over. These rows are what the page says.
func TestSquidLimits(t *testing.T) {
	t.Parallel()
	testkit.Need(t, "/usr/sbin/squid")
	if !onIsland(t) {
		return
	}
	newShore(t)
	names := newLiar(t)
	names.tell("api.exa.test", told{four: []string{webAddress}})
	names.tell("deaf.exa.test", told{four: []string{"8.8.8.8"}})
	builtin, squid := contenders(t, []string{"api.exa.test", "deaf.exa.test"})
	table := []string{fmt.Sprintf("%-26s %-16s %-16s", "in the tunnel", "builtin", "squid")}
	for _, r := range []struct{ what, host, hello, builtin, squid string }{
		{"a hello for the host", "api.exa.test", helloFor(t, "api.exa.test"), "200 allowed", "200 allowed"},
		{"a hello for another host", "api.exa.test", helloFor(t, "evil.test"), "200 servername", "200 allowed"},
		{"no TLS at all", "api.exa.test", "SSH-2.0-x\r\n", "200 hello", "200 allowed"},
		{"no answer", "deaf.exa.test", "", "502 unreached", "503 unreached"},
	} {
		got := [2]string{}
		for i, c := range []*contender{builtin, squid} {
			got[i], _ = c.verdict(t, 0, connect(r.host), r.hello)
		}
		if got != [2]string{r.builtin, r.squid} {
			t.Errorf("%s: %q", r.what, got)
		}
		table = append(table, fmt.Sprintf("%-26s %-16s %-16s", r.what, got[0], got[1]))
	}
	t.Log("\n" + strings.Join(table, "\n"))

	// A tunnel that stands is reported by the one, and not yet by the other.
	conn, err := net.Dial("tcp", squid.listeners[0])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	hello := helloFor(t, "api.exa.test")
	if _, err := io.WriteString(conn, connect("api.exa.test")); err != nil {
		t.Fatal(err)
	}
	if status, err := answered(conn); err != nil || status != http.StatusOK {
		t.Fatal(status, err)
	}
	if _, err := io.WriteString(conn, hello); err != nil {
		t.Fatal(err)
	}
	if verdict, _ := squid.verdict(t, 0, connect("evil.test"), ""); verdict != "403 domain" {
		t.Errorf("the tunnel that stands was reported first, or: %s", verdict)
	}
	_ = conn.Close()
	if a := squid.access(t); !a.Allowed || a.Host != "api.exa.test" || a.Address != webAddress {
		t.Errorf("reported %+v", a)
	}
	closed := (<-squid.lines).Closed
	if closed == nil || closed.Sent < int64(len(hello)) {
		t.Errorf("it carried %+v, and %d bytes were sent", closed, len(hello))
	}
}

// Whatever a client sends, it is one line, at its own listener, of its own host.
func TestSquidLogCannotBeForged(t *testing.T) {
	t.Parallel()
	testkit.Need(t, "/usr/sbin/squid")
	if !onIsland(t) {
		return
	}
	newLiar(t)
	_, squid := contenders(t, []string{"api.exa.test"}, []string{"other.test"})
	const forged = "3129 TCP_TUNNEL 200 - - 93.184.216.34 1 1 CONNECT other.test:443"
	for _, text := range []string{
		"CONNECT a\n" + forged + "\n:443 HTTP/1.1\r\n\r\n",
		"CONNECT a\r\n" + forged + "\r\n:443 HTTP/1.1\r\n\r\n",
		"CONNECT a%0a" + strings.ReplaceAll(forged, " ", "%20") + "%0a:443 HTTP/1.1\r\n\r\n",
		"GET http://evil.test/\n" + forged + "\n HTTP/1.1\r\n\r\n",
		"GET http://evil.test/%0A" + strings.ReplaceAll(forged, " ", "%20") + " HTTP/1.1\r\n\r\n",
		forged + "\n HTTP/1.1\r\n\r\n",
		"A\t" + forged + " http://evil.test/ HTTP/1.1\r\n\r\n",
		strings.Repeat("M", 5000) + " http://evil.test/ HTTP/1.1\r\n\r\n",
		"CONNECT " + strings.Repeat("%00", 3000) + ":443 HTTP/1.1\r\n\r\n",
		"GET http://evil.test/" + strings.Repeat("\xff", 7000) + " HTTP/1.1\r\n\r\n",
		"CONNECT evil.test:443 HTTP/1.1\r\nUser-Agent: x\n" + forged + "\r\n\r\n",
		"CONNECT evil.test:443 HTTP/1.1\r\nProxy-Authorization: Basic " + strings.Repeat("QUFB", 100) + "\r\nX-Forwarded-For: 1.2.3.4\r\n\r\n",
	} {
		conn, err := net.Dial("tcp", squid.listeners[0])
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
		_, _ = io.WriteString(conn, text)
		_ = conn.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, conn)
		_ = conn.Close()
		if a := squid.access(t); a.Allowed || a.Listener != "listener 0" || strings.ContainsAny(a.Host, " \n\r\t") || len(a.Host) > 253 {
			t.Errorf("%.60q: reported %+v", text, a)
		}
	}
	// Nothing is left over: the next line is that of the next request.
	if verdict, shown := squid.verdict(t, 1, connect("last.test"), ""); verdict != "403 domain" || shown != "last.test 443" {
		t.Errorf("the last request was %s (%s)", verdict, shown)
	}
}

// Squid that cannot start, or dies, is the end, with its words; what Squid cannot do is
// refused before it starts.
func TestSquidEnds(t *testing.T) {
	testkit.Need(t, "/usr/sbin/squid", "/bin/sh")
	if !onIsland(t) {
		return
	}
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	taken, err := net.Listen("tcp", "127.0.0.1:3999")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, test := range []struct {
		what string
		opts Options
		want string
		code int
	}{
		{"no Squid", Options{Squid: "no-such-squid"}, "install Squid, or name it", host.ExitFailure},
		{"a Squid that complains", Options{Squid: write("complains", "#!/bin/sh\necho 'FATAL: no listener today' >&2\nexit 3\n")}, "squid ended (exit status 3): FATAL: no listener today", host.ExitFailure},
		{"a port that is taken", Options{Squid: "squid", Listen: taken.Addr().String()}, "cannot listen", host.ExitFailure},
		{"no port", Options{Squid: "squid", Listen: "127.0.0.1:0"}, "has no port", host.ExitUsage},
		{"a name as server", Options{Squid: "squid", DNS: []string{"dns.test"}}, "--dns must be an address", host.ExitUsage},
		{"tokens", Options{Squid: "squid", Policy: write("tokens", `{"listeners":[{"name":"g","address":"127.0.0.1:3128","allow":[],"token":"kX82mQ0vT4nB7cLw9rJd"}]}`)}, "has a token, and Squid asks for none", host.ExitUsage},
		{"an upstream", Options{Squid: "squid", Policy: write("upstream", `{"listeners":[{"name":"g","address":"127.0.0.1:3128","allow":[]}],"upstream":"http://proxy.test:3128"}`)}, "cannot use an upstream proxy", host.ExitUsage},
	} {
		if test.opts.Listen == "" {
			test.opts.Listen = "127.0.0.1:3128"
		}
		p := startWith(t, test.opts, nil)
		if err := <-p.ended; err == nil || !strings.Contains(err.Error(), test.want) || host.ExitCode(err) != test.code || strings.Contains(err.Error(), "kX82") {
			t.Errorf("%s: ended with %v (%d), want %q", test.what, err, host.ExitCode(err), test.want)
		}
	}

	t.Setenv("TMPDIR", dir)
	pid := filepath.Join(dir, "pid")
	p := startWith(t, Options{Squid: write("real", "#!/bin/sh\necho $$ > "+pid+"\nexec squid \"$@\"\n"), Listen: "127.0.0.1:3128"}, nil)
	if ready := p.next().Ready; len(ready) != 1 || ready[0].Address != "127.0.0.1:3128" {
		t.Fatalf("ready: %+v", ready)
	}
	var id int
	if text, err := os.ReadFile(pid); err != nil {
		t.Fatal(err)
	} else if _, err := fmt.Sscan(string(text), &id); err != nil {
		t.Fatal(err)
	}
	squid, err := os.FindProcess(id)
	if err != nil {
		t.Fatal(err)
	}
	if err := squid.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := <-p.ended; err == nil || !strings.Contains(err.Error(), "squid ended (killed by SIGKILL)") {
		t.Errorf("ended with %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "perstack-squid-*")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// What can be printed no more ends Squid, and an open tunnel is reported at the end.
func TestSquidIsEnded(t *testing.T) {
	t.Parallel()
	testkit.Need(t, "/usr/sbin/squid")
	if !onIsland(t) {
		return
	}
	newShore(t)
	newLiar(t).tell("api.exa.test", told{four: []string{webAddress}})
	ctx, stop := context.WithCancelCause(t.Context())
	in, stdin := io.Pipe()
	p := startWith(t, Options{Policy: "-", Squid: "squid", DNS: []string{"127.0.0.1"}}, in)
	policy, err := json.Marshal(egress.ProxyConfig{Listeners: []egress.Listener{{Name: "g", Address: "127.0.0.1:3128", Allow: []string{"api.exa.test"}}}})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = stdin.Write(append(policy, '\n'))
	p.next()
	conn, err := net.Dial("tcp", "127.0.0.1:3128")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, connect("api.exa.test"))
	if status, err := answered(conn); err != nil || status != http.StatusOK {
		t.Fatal(status, err)
	}
	_ = stdin.Close()
	if a := p.next().Access; a == nil || !a.Allowed || a.Host != "api.exa.test" {
		t.Errorf("reported at the end: %+v", a)
	}
	p.next()
	if err := <-p.ended; err != nil {
		t.Errorf("ended with %v", err)
	}

	full := errors.New("no space left")
	h := &host.Host{Stdout: broken{full}, Stderr: io.Discard, Environ: os.Environ()}
	if err := Run(ctx, &Options{Host: h, Squid: "squid", Listen: "127.0.0.1:3128", MaxConnections: 1}); !errors.Is(err, full) {
		t.Errorf("ended with %v", err)
	}
	stop(nil)
}

// Squid opens as many listeners as it is said to, each with its own list.
func TestSquidManyListeners(t *testing.T) {
	t.Parallel()
	testkit.Need(t, "/usr/sbin/squid")
	if !onIsland(t) {
		return
	}
	newShore(t)
	names := newLiar(t)
	var lists [][]string
	for i := range 128 {
		name := fmt.Sprintf("h%d.many.test", i)
		names.tell(name, told{four: []string{webAddress}})
		lists = append(lists, []string{name, "*." + name})
	}
	_, squid := contenders(t, lists...)
	for _, i := range []int{0, 1, 63, 127} {
		own, other := fmt.Sprintf("h%d.many.test", i), fmt.Sprintf("h%d.many.test", (i+1)%128)
		if verdict, _ := squid.verdict(t, i, connect(own), helloFor(t, own)); verdict != "200 allowed" {
			t.Errorf("listener %d, its own host: %s", i, verdict)
		}
		if verdict, _ := squid.verdict(t, i, connect(other), ""); verdict != "403 domain" {
			t.Errorf("listener %d, the host of another: %s", i, verdict)
		}
	}
}

// Clients cannot have more connections than the policy says, and one that was closed makes
// space for another.
func TestSquidMaxConnections(t *testing.T) {
	t.Parallel()
	testkit.Need(t, "/usr/sbin/squid")
	if !onIsland(t) {
		return
	}
	newShore(t)
	newLiar(t).tell("api.exa.test", told{four: []string{webAddress}})
	p := startWith(t, Options{Squid: "squid", DNS: []string{"127.0.0.1"}, Listen: "127.0.0.1:3128", Allow: []string{"api.exa.test"}, MaxConnections: 3}, nil)
	p.next()
	open := func() (net.Conn, error) {
		conn, err := net.Dial("tcp", "127.0.0.1:3128")
		if err != nil {
			return nil, err
		}
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
		_, _ = io.WriteString(conn, connect("api.exa.test"))
		status, err := answered(conn)
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("status %d", status)
		}
		return conn, err
	}
	var conns []net.Conn
	for range 10 {
		conn, err := open()
		if err != nil {
			break
		}
		conns = append(conns, conn)
	}
	if len(conns) == 0 || len(conns) > 3 {
		t.Errorf("%d connections are open at once, and 3 are allowed", len(conns))
	}
	for _, c := range conns {
		_ = c.Close()
	}
	for range conns {
		if a := p.next().Access; a == nil || !a.Allowed {
			t.Errorf("reported %+v", a)
		}
		p.next()
	}
}
