package daemon

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/registry/api"
)

// newHost is the environment of a command, whose standard output and error are the two writers.
func newHost(t *testing.T, out, errs io.Writer) *host.Host {
	t.Helper()
	return &host.Host{
		Dir: t.TempDir(), Home: t.TempDir(), Stdin: strings.NewReader(""), Stdout: out, Stderr: errs, Source: engine.SystemSource(),
	}
}

// call runs a command to its end.
func call(t *testing.T, args ...string) (out, errs string, code int) {
	t.Helper()
	var o, e bytes.Buffer
	code = Main(t.Context(), newHost(t, &o, &e), args)
	return o.String(), e.String(), code
}

// A running is a registry that is served.
type running struct {
	url, logKey, key, metrics string
	stop                      func() (code int)
}

// serve starts a registry, and reads what it says.
func serve(t *testing.T, data string, more ...string) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, w := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		code := Main(ctx, newHost(t, w, io.Discard), append([]string{"registry", "--listen", "127.0.0.1:0", "--data", data}, more...))
		w.Close()
		ended <- code
	}()
	r := &running{}
	r.stop = func() int { cancel(); return <-ended }
	lines := bufio.NewScanner(out)
	for (r.url == "" || r.logKey == "") && lines.Scan() {
		if url, ok := strings.CutPrefix(lines.Text(), "Registry: "); ok {
			r.url = url
		}
		if url, ok := strings.CutPrefix(lines.Text(), "Metrics:  "); ok {
			r.metrics = url
		}
		if key, ok := strings.CutPrefix(lines.Text(), "Log key:  "); ok {
			r.logKey = key
		}
	}
	if r.url == "" {
		t.Fatalf("the registry did not start: exit code %d", r.stop())
	}
	rest := make(chan string, 1)
	go func() {
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), "psk_") {
				rest <- lines.Text()
			}
		}
		close(rest)
	}()
	stop := r.stop
	r.stop = func() int {
		code := stop()
		r.key = <-rest
		return code
	}
	return r
}

func get(t *testing.T, url, key string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// With no more than a directory, a registry starts, keeps its log key, and prints its first key once.
func TestServe(t *testing.T) {
	data := filepath.Join(t.TempDir(), "new", "registry")
	first := serve(t, data)
	for path, want := range map[string]string{"/healthz": "ok", "/readyz": "ok", api.DiscoveryPath: first.logKey} {
		if code, body := get(t, first.url+path, ""); code != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	first.stop()
	second := serve(t, data)
	if code, body := get(t, second.url+api.V2+"/whoami", first.key); code != http.StatusOK || !strings.Contains(body, "serviceAdmin") {
		t.Errorf("the first key: %d %s", code, body)
	}
	second.stop()
	if second.logKey != first.logKey || second.key != "" {
		t.Errorf("the second start has the log key %s and prints the key %q", second.logKey, second.key)
	}
}

func TestUsage(t *testing.T) {
	for args, want := range map[string]string{
		"":                                     "",
		"serve":                                `unknown command "serve"`,
		"registri":                             "did you mean registry?",
		"registry start":                       `unknown command "start"`,
		"registry --lisen x":                   "did you mean --listen?",
		"registry --listen 7421":               "an address and a port",
		"registry --listen :7421":              "is reached by other machines",
		"registry --listen 0.0.0.0:7421":       "is reached by other machines",
		"registry --tls-cert x":                "go together",
		"registry --tls-cert x --tls-key y":    "the certificate cannot be used",
		"registry --public-url example.com":    "--public-url must be like",
		"registry --behind-proxy 10.0.0.1":     "must be a network",
		"registry --limit reads-per-minut=1":   `did you mean "reads-per-minute"?`,
		"registry --limit reads-per-hour=-1":   "needs a number",
		"registry --issuer https://ci.example": "needs --public-url",
		"registry --issuer ci.example --public-url https://registry.example": "is not an issuer",
		"registry --latest newest":      "--latest must be",
		"registry --naming free":        "--naming must be",
		"registry --database mysql://x": "must be like postgres://",
	} {
		out, errs, code := call(t, strings.Fields(args)...)
		if code != host.ExitUsage || out != "" || !strings.Contains(errs, want) {
			t.Errorf("%q: exit code %d, %q, %q", args, code, out, errs)
		}
	}
	if out, errs, code := call(t, "--version"); code != 0 || out == "" || errs != "" {
		t.Error(out, errs, code)
	}
	if out, _, code := call(t, "registry", "--help"); code != 0 || !strings.Contains(out, "perstackd registry --database") {
		t.Error(out, code)
	}
}
