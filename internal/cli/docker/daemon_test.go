package docker

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/runtimes/docker"
	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/internal/testkit/daemon"
	"github.com/perstack-go/perstack/rawjson"
)

// The real daemon is shared with other tests, whose images are old too. So the command
// gets to see those of this test alone.
func TestPruneOnADaemon(t *testing.T) {
	if testing.Short() {
		t.Skip("makes images")
	}
	daemon.Need(t)
	dir := t.TempDir()
	env := map[string]string{"PERSTACK_LINUX_BINARY": daemon.Binary(t)}
	d, err := docker.Connect(t.Context(), os.Getenv, "")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	// load returns the name of the image that a run would use with these authorities.
	load := func(name string) string {
		env["SSL_CERT_FILE"] = filepath.Join(dir, name)
		if err := os.WriteFile(env["SSL_CERT_FILE"], authority(t), 0o600); err != nil {
			t.Fatal(err)
		}
		spec, err := docker.Parts("", func(name string) string { return env[name] }, d.Arch)
		if err != nil {
			t.Fatal(err)
		}
		id, err := d.Image(t.Context(), spec, func(event.Body) {})
		if err != nil {
			t.Fatal(err)
		}
		daemon.RemoveImage(t, daemon.Need(t), id)
		found, err := daemon.Need(t).ImageInspect(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return found.RepoTags[0]
	}
	old := load("old.pem")
	current := load("current.pem")
	env["DOCKER_HOST"] = narrow(t, old, current)

	run := func(opts Options) string {
		t.Helper()
		var out bytes.Buffer
		h := &host.Host{Stdout: &out, Stderr: &out}
		for name, value := range env {
			h.Environ = append(h.Environ, name+"="+value)
		}
		opts.Host, opts.Executable = h, func() (string, error) { return "", nil }
		if err := prune(t.Context(), &opts); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if out := run(Options{Yes: true}); !strings.HasPrefix(out, "removed 1 image (") {
		t.Errorf("first: %q", out)
	}
	there(t, map[string]bool{old: false, current: true})
	if out := run(Options{Yes: true}); out != "nothing to remove\n" {
		t.Errorf("again: %q", out)
	}
	if out := run(Options{Yes: true, All: true, JSON: true}); !strings.Contains(out, `"images": 1,`) {
		t.Errorf("all: %q", out)
	}
	there(t, map[string]bool{current: false})

	env["PERSTACK_LINUX_BINARY"] = filepath.Join(dir, "nothing")
	h := &host.Host{Environ: []string{"DOCKER_HOST=" + env["DOCKER_HOST"], "PERSTACK_LINUX_BINARY=" + env["PERSTACK_LINUX_BINARY"]}}
	err = prune(t.Context(), &Options{Host: h, Yes: true, Executable: os.Executable})
	if err == nil || !strings.Contains(err.Error(), "PERSTACK_LINUX_BINARY") || !strings.Contains(err.Error(), "--all") {
		t.Errorf("without a program: %v", err)
	}
}

func there(t *testing.T, want map[string]bool) {
	t.Helper()
	for name, want := range want {
		if _, err := daemon.Need(t).ImageInspect(t.Context(), name); (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", name, err == nil, want)
		}
	}
}

// narrow is a way to the daemon on which only these images can be seen, no containers and
// no networks.
func narrow(t *testing.T, tags ...string) string {
	t.Helper()
	whole, err := url.Parse(daemon.Need(t).DaemonHost())
	if err != nil {
		t.Fatal(err)
	}
	if whole.Scheme != "unix" {
		testkit.Missing(t, "a daemon with a socket")
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: "engine"}) },
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", whole.Path)
		}},
		ModifyResponse: func(r *http.Response) error {
			path := r.Request.URL.Path
			if r.Request.Method != http.MethodGet || !strings.HasSuffix(path, "/images/json") && !strings.HasSuffix(path, "/containers/json") && !strings.HasSuffix(path, "/networks") {
				return nil
			}
			var list, kept []rawjson.Value
			if err := json.UnmarshalRead(r.Body, &list); err != nil {
				return err
			}
			for _, v := range list {
				var image struct{ RepoTags []string }
				if err := json.Unmarshal(v, &image); err != nil {
					return err
				}
				if slices.ContainsFunc(image.RepoTags, func(tag string) bool { return slices.Contains(tags, tag) }) {
					kept = append(kept, v)
				}
			}
			data, err := json.Marshal(kept)
			if err != nil {
				return err
			}
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
			r.Header.Set("Content-Length", strconv.Itoa(len(data)))
			return nil
		},
	}
	dir, err := os.MkdirTemp("", "narrow") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: proxy}
	t.Cleanup(func() { server.Close() })
	go func() { _ = server.Serve(listener) }()
	return "unix://" + socket
}

// authority makes a certificate that is like no other.
func authority(t *testing.T) []byte {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Unix(4000000000, 0)}
	der, err := x509.CreateCertificate(nil, template, template, public, private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
