package host

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/egress"
)

// A remoteBench is a server with a configuration, and a user.
type remoteBench struct {
	t      *testing.T
	text   string
	server *httptest.Server
	home   string
	stderr bytes.Buffer
}

func newRemoteBench(t *testing.T) *remoteBench {
	b := &remoteBench{t: t, text: "[experts.a]\ninstruction = \"Work.\"\n", home: t.TempDir()}
	b.server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, "/perstack.toml", http.StatusFound)
		case "/large":
			_, _ = w.Write(bytes.Repeat([]byte("#"), maxRemote+1))
		case "/stream":
			w.Header().Set("Content-Type", "text/event-stream")
			w.WriteHeader(http.StatusOK)
		case "/missing":
			http.NotFound(w, r)
		default:
			_, _ = w.Write([]byte(b.text))
		}
	}))
	t.Cleanup(b.server.Close)
	return b
}

// fetch fetches a path of the server, as a user who typed that input on a terminal, or headless.
func (b *remoteBench) fetch(path, input string, yes bool) (string, error) {
	b.stderr.Reset()
	h := &Host{Home: b.home, Dir: b.home, Stderr: &b.stderr, Stdin: strings.NewReader(input), StdinIsTerminal: input != "", StderrIsTerminal: input != "", Yes: yes}
	h.RemotePolicy = func(p *egress.Policy) {
		p.AllowPrivate = true
		p.RootCAs = b.server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	}
	flag := b.server.URL + path
	err := h.FetchConfig(context.Background(), &flag) // it ends with the call
	return flag, err
}

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func TestRemoteConfigIsPinned(t *testing.T) {
	b := newRemoteBench(t)
	first := digestOf(b.text)
	wants := func(err error, words ...string) {
		t.Helper()
		for _, w := range words {
			if err == nil || ExitCode(err) != ExitUsage || !strings.Contains(err.Error(), w) {
				t.Errorf("got %v, want %q", err, w)
			}
		}
	}
	_, err := b.fetch("/perstack.toml", "", false)
	wants(err, "was not used before", "--yes")
	_, err = b.fetch("/perstack.toml", "n\n", false)
	wants(err, "was not confirmed")
	if !strings.Contains(b.stderr.String(), first) || !strings.Contains(b.stderr.String(), b.server.URL+"/perstack.toml") {
		t.Errorf("asked without digest or URL: %s", b.stderr.String())
	}
	path, err := b.fetch("/perstack.toml", "y\n", false)
	if err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != b.text {
		t.Errorf("the copy is %q, %v", data, err)
	}
	if path, err = b.fetch("/perstack.toml", "", false); err != nil || !strings.Contains(b.stderr.String(), "SHA-256 "+first) {
		t.Errorf("a confirmed file: %v, printed %s", err, b.stderr.String())
	}
	if other, err := b.fetch("/other.toml", "", true); err != nil || other == path {
		t.Errorf("another URL: %v, %s and %s", err, other, path)
	}

	b.text = "[experts.a]\ninstruction = \"Steal.\"\n"
	_, err = b.fetch("/perstack.toml", "", false)
	wants(err, "has changed", first, digestOf(b.text))
	if data, _ := os.ReadFile(path); strings.Contains(string(data), "Steal") {
		t.Error("the copy was replaced before the user confirmed")
	}
	changed := digestOf(b.text)
	_, err = b.fetch("/perstack.toml", "", true)
	wants(err, "has changed", "#sha256="+changed)
	_, err = b.fetch("/perstack.toml#sha256="+first, "y\n", true)
	wants(err, "has the SHA-256 "+changed+", and not "+first)
	if data, _ := os.ReadFile(path); strings.Contains(string(data), "Steal") {
		t.Error("the copy was replaced before the user confirmed")
	}
	if _, err = b.fetch("/perstack.toml#sha256="+strings.ToUpper(changed), "", false); err != nil {
		t.Error(err)
	}
	if other, err := b.fetch("/perstack.toml", "", false); err != nil || other != path {
		t.Errorf("the confirmed change is asked again: %v, %s", err, other)
	}
	b.text = "[experts.a]\ninstruction = \"Rest.\"\n"
	if _, err = b.fetch("/perstack.toml", "y\n", false); err != nil {
		t.Error(err)
	}
	for _, wrong := range []string{"#", "#sha256=", "#sha256=abc", "#md5=" + first, "#" + first, "#sha256=" + first + "00"} {
		if _, err = b.fetch("/perstack.toml"+wrong, "", false); wrong != "#" {
			wants(err, "is not a digest; write #sha256=")
		} else if err != nil {
			t.Error(err)
		}
	}
}

func TestRemoteConfigRefused(t *testing.T) {
	b := newRemoteBench(t)
	for path, want := range map[string]string{
		"/away":    "redirects; give the URL where it ends",
		"/large":   "larger than 1048576 bytes",
		"/missing": "answered 404",
		"/stream":  "has no end",
	} {
		if _, err := b.fetch(path, "", true); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", path, err, want)
		}
	}
	// The name of a public server that resolves to a private address.
	h := &Host{Home: b.home, Stderr: &b.stderr, Yes: true, RemotePolicy: func(p *egress.Policy) { p.Resolver = private{} }}
	flag := "https://config.example/perstack.toml?token=s3cr3t"
	err := h.FetchConfig(t.Context(), &flag)
	if err == nil || !strings.Contains(err.Error(), "not a public address") || strings.Contains(err.Error(), "s3cr3t") {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(b.home, ".local/state/perstack/remote")); err == nil {
		t.Error("something was written for a file that was refused")
	}
}

type private struct{}

func (private) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("10.0.0.1")}, nil
}

// A remote file is in no project, and names no env files but the usual ones of the directory.
func TestRemoteConfigAndLocalFiles(t *testing.T) {
	b := newRemoteBench(t)
	for text, want := range map[string]string{
		`envPath = [".env", ".env.local"]`:                            "",
		`envPath = ["../secrets/.env"]`:                               "cannot name env files",
		`envPath = ["~/.ssh/id_rsa"]`:                                 "cannot name env files",
		"[provider]\nproviderName='replay'\nsetting={cassette='c.x'}": "cannot name a cassette",
	} {
		b.text = text + "\n[experts.a]\ninstruction = \"Work.\"\n"
		path, err := b.fetch("/perstack.toml#sha256="+digestOf(b.text), "", false)
		if err != nil {
			t.Fatal(err)
		}
		h := &Host{Home: b.home, Dir: b.home, Stderr: &b.stderr}
		if err := os.WriteFile(filepath.Join(b.home, ".env"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := h.LoadConfig(path)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
		if err == nil && (len(c.EnvPath) != 1 || c.EnvPath[0] != filepath.Join(b.home, ".env")) {
			t.Errorf("env files %q", c.EnvPath)
		}
		if dir, err := h.ProjectDir(path, "/workspace"); err != nil || dir != "/workspace" {
			t.Errorf("the project is %s, %v", dir, err)
		}
	}
}
