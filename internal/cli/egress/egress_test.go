package egress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/egress"
	"github.com/perstack-go/perstack/internal/process"
)

func TestOptions(t *testing.T) {
	for _, test := range []struct {
		args string
		want Options
		err  string
	}{
		{args: "", want: Options{Listen: defaultListen, MaxConnections: 256}},
		{args: "--listen 127.0.0.1:0 --allow a.example --allow *.b.example,c --token-file t --max-connections 7", want: Options{Listen: "127.0.0.1:0", Allow: []string{"a.example", "*.b.example,c"}, TokenFile: "t", MaxConnections: 7}},
		{args: "--policy -", want: Options{Listen: defaultListen, MaxConnections: 256, Policy: "-"}},
		{args: "--squid", want: Options{Listen: defaultListen, MaxConnections: 256, Squid: "squid"}},
		{args: "--squid=/opt/squid --dns 192.0.2.53 --dns 2001:db8::1 --policy -", want: Options{Listen: defaultListen, MaxConnections: 256, Policy: "-", Squid: "/opt/squid", DNS: []string{"192.0.2.53", "2001:db8::1"}}},
		{args: "--squid /opt/squid", err: `takes no arguments, but got "/opt/squid"`},
		{args: "--squid --token-file t", err: "--token-file has no effect with --squid"},
		{args: "--dns 192.0.2.53", err: "--dns works with --squid only"},
		{args: "a.example", err: `takes no arguments, but got "a.example"; --allow names a host`},
		{args: "--policy p --allow a.example", err: "--allow has no effect with --policy"},
		{args: "--policy p --listen 127.0.0.1:1", err: "--listen has no effect with --policy"},
		{args: "--policy=", err: "--policy is given without a value"},
		{args: "--listen=", err: "--listen is given without a value"},
		{args: "--max-connections 0", err: "must be from 1 to 10000"},
		{args: "--max-connections 10001", err: "must be from 1 to 10000"},
	} {
		var got *Options
		cmd := New(&host.Host{}, func(_ context.Context, opts *Options) error { got = opts; return nil })
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetArgs(strings.Fields(test.args))
		err := cmd.Execute()
		if test.err != "" {
			if err == nil || !strings.Contains(err.Error(), test.err) || host.ExitCode(err) != host.ExitUsage {
				t.Errorf("%s: error %v, want %q", test.args, err, test.err)
			}
			continue
		}
		if err != nil || got.Listen != test.want.Listen || !slices.Equal(got.Allow, test.want.Allow) || got.TokenFile != test.want.TokenFile || got.MaxConnections != test.want.MaxConnections || got.Policy != test.want.Policy ||
			got.Squid != test.want.Squid || !slices.Equal(got.DNS, test.want.DNS) {
			t.Errorf("%s: got %+v, %v", test.args, got, err)
		}
	}
}

// A program is the command as it runs, with the lines that it prints.
type program struct {
	t      *testing.T
	lines  chan string
	stderr strings.Builder
	stop   context.CancelCauseFunc
	ended  chan error
}

func start(t *testing.T, opts Options, dir string, stdin io.Reader, environ ...string) *program {
	t.Helper()
	out, stdout := io.Pipe()
	p := &program{t: t, lines: make(chan string, 1000), ended: make(chan error, 1)}
	h := &host.Host{Stdin: stdin, Stdout: stdout, Stderr: &p.stderr, Dir: dir, Environ: environ}
	opts.Host = h
	if opts.MaxConnections == 0 {
		opts.MaxConnections = 10
	}
	ctx, stop := context.WithCancelCause(t.Context())
	p.stop = stop
	go func() {
		err := Run(ctx, &opts)
		_ = stdout.Close()
		p.ended <- err
	}()
	go func() {
		defer close(p.lines)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			p.lines <- lines.Text()
		}
	}()
	t.Cleanup(func() { stop(nil) })
	return p
}

func (p *program) next() egress.Line {
	p.t.Helper()
	text, ok := <-p.lines
	if !ok {
		p.t.Fatalf("nothing more is printed; it ended with %v", <-p.ended)
	}
	var l egress.Line
	if err := json.Unmarshal([]byte(text), &l, json.RejectUnknownMembers(true)); err != nil {
		p.t.Fatalf("%s: %v", text, err)
	}
	return l
}

// ask sends a request to a listener and returns the status of the answer.
func ask(t *testing.T, address, host string, header ...string) int {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	fmt.Fprintf(conn, "CONNECT %s:443 HTTP/1.1\r\n%s\r\n", host, strings.Join(header, ""))
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// As a person uses it: flags, a line for each decision, a signal.
func TestRunWithFlags(t *testing.T) {
	p := start(t, Options{Listen: "127.0.0.1:0", Allow: []string{"*.example.com"}}, t.TempDir(), nil)
	ready := p.next().Ready
	if len(ready) != 1 || ready[0].Name != "egress" || strings.HasSuffix(ready[0].Address, ":0") || !slices.Equal(ready[0].Allow, []string{"*.example.com"}) {
		t.Fatalf("ready: %+v", ready)
	}
	if status := ask(t, ready[0].Address, "example.com"); status != http.StatusForbidden {
		t.Errorf("got %d", status)
	}
	if a := p.next().Access; a == nil || *a != (egress.Access{ID: 1, Listener: "egress", Host: "example.com", Port: 443, Reason: egress.ReasonDomain}) {
		t.Errorf("got %+v", a)
	}
	p.stop(process.Signal{Signal: syscall.SIGTERM})
	if err := <-p.ended; host.ExitCode(err) != host.ExitTerminate || host.Describe(err) != "" {
		t.Errorf("ended with %v", err)
	}
	if got := p.stderr.String(); got != fmt.Sprintf("Listening on %s; programs use it with HTTPS_PROXY=http://%[1]s\n", ready[0].Address) {
		t.Errorf("it says %q", got)
	}
}

const document = `{"listeners":[{"name":"engine","address":"127.0.0.1:0","allow":["api.example.com"],"token":"kX82mQ0vT4nB7cLw9rJd"},{"name":"writer base","address":"127.0.0.1:0","allow":[]}]}`

// What is printed for HTTPS_PROXY can be dialled.
func TestVariable(t *testing.T) {
	for _, c := range []struct{ listen, at, want string }{
		{"127.0.0.1:0", "127.0.0.1:4000", "http://127.0.0.1:4000"},
		{"192.0.2.1:0", "192.0.2.1:4000", "http://192.0.2.1:4000"},
		{"0.0.0.0:0", "[::]:4000", "http://127.0.0.1:4000"},
		{"0.0.0.0:0", "0.0.0.0:4000", "http://127.0.0.1:4000"},
		{"[::ffff:0.0.0.0]:0", "[::]:4000", "http://127.0.0.1:4000"},
		{"[::]:0", "[::]:4000", "http://[::1]:4000"},
		{"[::1]:0", "[::1]:4000", "http://[::1]:4000"},
	} {
		if got := (&Options{Listen: c.listen}).variable(c.at); got != c.want {
			t.Errorf("%s at %s: %s, want %s", c.listen, c.at, got, c.want)
		}
	}
}

// As the container uses it: one line on standard input, whose end is the end.
func TestRunWithInput(t *testing.T) {
	in, stdin := io.Pipe()
	p := start(t, Options{Policy: "-"}, "", in)
	if _, err := io.WriteString(stdin, document+"\n"); err != nil {
		t.Fatal(err)
	}
	ready := p.next().Ready
	if len(ready) != 2 || ready[0].Token != "" || ready[0].Address == ready[1].Address {
		t.Fatalf("ready: %+v", ready)
	}
	for i, want := range []int{http.StatusProxyAuthRequired, http.StatusForbidden} {
		if status := ask(t, ready[i].Address, "other.example.com"); status != want {
			t.Errorf("listener %d: got %d", i, status)
		}
		if a := p.next().Access; a == nil || a.Listener != ready[i].Name || a.Host != "other.example.com" {
			t.Errorf("got %+v", a)
		}
	}
	// A client that learned a token cannot make us print it.
	if status := ask(t, ready[1].Address, "kX82mQ0vT4nB7cLw9rJd:"); status != http.StatusForbidden {
		t.Errorf("got %d", status)
	}
	if a := p.next().Access; a == nil || strings.Contains(a.Host, "kX82") {
		t.Errorf("got %+v", a)
	}
	_ = stdin.Close()
	if err := <-p.ended; err != nil {
		t.Errorf("ended with %v", err)
	}
	if got := p.stderr.String(); got != "" {
		t.Errorf("it says %q", got)
	}
}

func TestRunRefusesInput(t *testing.T) {
	for text, want := range map[string]string{
		"":                                "the input ended before its first line did",
		document:                          "the input ended before its first line did",
		"{\n" + document:                  "it must be one line",
		`{"listeners":[],"x":1}` + "\n":   `the policy cannot be read: "/x" is unknown`,
		`{"listeners":{}}` + "\n":         `"/listeners" must be a list`,
		strings.Repeat("x", 2<<20):        "more than 1048576 bytes",
		document + "\n" + document + "\n": "more than one line was sent",
	} {
		p := start(t, Options{Policy: "-"}, "", strings.NewReader(text))
		if err := <-p.ended; err == nil || !strings.Contains(err.Error(), want) || host.ExitCode(err) != host.ExitUsage || strings.Contains(err.Error(), "kX82") {
			t.Errorf("%.50q: ended with %v, want %q", text, err, want)
		}
	}
	in, _ := io.Pipe()
	p := start(t, Options{Policy: "-"}, "", in) // nothing comes
	p.stop(process.Signal{Signal: os.Interrupt})
	if err := <-p.ended; host.ExitCode(err) != host.ExitInterrupt {
		t.Errorf("ended with %v", err)
	}
}

func TestRunWithFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	write("token", "kX82mQ0vT4nB7cLw9rJd\n", 0o600)
	write("short", "abc", 0o600)
	write("url", "kX82mQ0vT4nB7cLw9rJd@evil", 0o600)
	write("open", "kX82mQ0vT4nB7cLw9rJd\n", 0o644)
	write("policy", strings.ReplaceAll(document, ",", ",\n"), 0o600)
	write("openpolicy", document, 0o644)
	write("plain", `{"listeners":[{"name":"g","address":"127.0.0.1:0","allow":[]}]}`, 0o644)
	write("broken", `{"listeners":[{"name":"g","address":"127.0.0.1:0","allow":[],"Token":"kX82"}]}`, 0o600)

	for _, test := range []struct {
		opts Options
		err  string
		unix bool
	}{
		{opts: Options{Listen: "127.0.0.1:0", TokenFile: "token"}},
		{opts: Options{Listen: "0.0.0.0:0", TokenFile: "token"}},
		{opts: Options{Policy: "policy"}},
		{opts: Options{Policy: "plain"}},
		{opts: Options{Listen: "0.0.0.0:0"}, err: "others can reach 0.0.0.0; give a --token-file"},
		{opts: Options{Listen: "localhost:0"}, err: "must be an address and a port"},
		{opts: Options{Listen: ":3128"}, err: "must be an address and a port"},
		{opts: Options{Listen: "127.0.0.1:0", Allow: []string{"10.0.0.1"}}, err: "--allow: \"10.0.0.1\" cannot be allowed"},
		{opts: Options{Listen: "127.0.0.1:0", TokenFile: "short"}, err: "one token of 16 to 512"},
		{opts: Options{Listen: "127.0.0.1:0", TokenFile: "url"}, err: "one token of 16 to 512"},
		{opts: Options{Listen: "127.0.0.1:0", TokenFile: "nowhere"}, err: "nowhere"},
		{opts: Options{Listen: "127.0.0.1:0", TokenFile: "open"}, err: "chmod 600", unix: true},
		{opts: Options{Policy: "openpolicy"}, err: "chmod 600", unix: true},
		{opts: Options{Policy: "broken"}, err: "cannot be read"},
		{opts: Options{Policy: "."}, err: "not a regular file"},
	} {
		if test.unix && runtime.GOOS == "windows" {
			continue
		}
		p := start(t, test.opts, dir, nil)
		if test.err != "" {
			if err := <-p.ended; err == nil || !strings.Contains(err.Error(), test.err) || host.ExitCode(err) != host.ExitUsage || strings.Contains(err.Error(), "kX82") {
				t.Errorf("%+v: ended with %v, want %q", test.opts, err, test.err)
			}
			continue
		}
		listener := p.next().Ready[0]
		if test.opts.TokenFile != "" {
			port := listener.Address[strings.LastIndexByte(listener.Address, ':'):]
			if status := ask(t, "127.0.0.1"+port, "a.example.com"); status != http.StatusProxyAuthRequired {
				t.Errorf("without the token: %d", status)
			}
			p.next()
			if status := ask(t, "127.0.0.1"+port, "a.example.com", "Proxy-Authorization: Basic cGVyc3RhY2s6a1g4Mm1RMHZUNG5CN2NMdzlySmQ=\r\n"); status != http.StatusForbidden {
				t.Errorf("with the token: %d", status)
			}
			p.next()
			if got := p.stderr.String(); !strings.Contains(got, "HTTPS_PROXY=http://perstack:TOKEN@127.0.0.1:") || strings.Contains(got, "kX82") {
				t.Errorf("it says %q", got)
			}
		}
		p.stop(nil)
		<-p.ended
	}
}

// An address in use is a failure, and so is an output without a reader.
func TestRunFails(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	p := start(t, Options{Listen: taken.Addr().String()}, "", nil)
	if err := <-p.ended; err == nil || host.ExitCode(err) != host.ExitFailure || !strings.Contains(err.Error(), "cannot listen") {
		t.Errorf("ended with %v", err)
	}
	full := errors.New("no space left")
	h := &host.Host{Stdout: broken{full}, Stderr: io.Discard}
	if err := Run(t.Context(), &Options{Host: h, Listen: "127.0.0.1:0", MaxConnections: 1}); !errors.Is(err, full) || host.ExitCode(err) != host.ExitFailure {
		t.Errorf("ended with %v", err)
	}
}

type broken struct{ err error }

func (b broken) Write([]byte) (int, error) { return 0, b.err }
