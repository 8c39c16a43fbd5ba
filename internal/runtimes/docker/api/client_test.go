//go:build !windows

package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// serve returns a client for a daemon that answers as handle does.
func serve(t *testing.T, handle http.HandlerFunc) *Client {
	t.Helper()
	dir, err := os.MkdirTemp("", "") // t.TempDir can be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: l, Config: &http.Server{Handler: handle}}
	server.Start()
	t.Cleanup(server.Close)
	c, err := New("unix://" + socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestNew(t *testing.T) {
	for _, host := range []string{"", "unix://", "/var/run/docker.sock", "tcp://127.0.0.1:2375", "ssh://root@host"} {
		if c, err := New(host); err == nil {
			t.Errorf("New(%q) = %v", host, c)
		}
	}
}

func TestVersions(t *testing.T) {
	for daemon, want := range map[string]string{"1.41": "/v1.41/version", maxVersion: "/v" + maxVersion + "/version", "9.9": "/v" + maxVersion + "/version"} {
		var asked []string
		c := serve(t, func(w http.ResponseWriter, r *http.Request) {
			asked = append(asked, r.Method+" "+r.URL.Path)
			w.Header().Set("Api-Version", daemon)
			if r.Method == http.MethodGet {
				io.WriteString(w, `{"Version":"20.10"}`)
			}
		})
		if got, err := c.Ping(t.Context()); got != daemon || err != nil {
			t.Errorf("Ping: %q, %v", got, err)
		}
		if v, err := c.Version(t.Context()); v.Version != "20.10" || err != nil {
			t.Errorf("Version: %q, %v", v.Version, err)
		}
		if all := []string{"GET /_ping", "GET " + want}; !slices.Equal(asked, all) {
			t.Errorf("daemon with %s: asked %q, want %q", daemon, asked, all)
		}
	}
}

func TestRefusals(t *testing.T) {
	for _, test := range []struct {
		status int
		body   string
		want   string
		is     func(error) bool
	}{
		{404, `{"message":"no such image: x\n"}`, "no such image: x", IsNotFound},
		{409, `{"message":"in use"}`, "in use", IsConflict},
		{403, `{"message":"has active endpoints"}`, "has active endpoints", IsForbidden},
		{500, `<html>`, "500 Internal Server Error: <html>", func(err error) bool { return !IsNotFound(err) && !IsConflict(err) && !IsForbidden(err) }},
		{500, `{"message":"` + strings.Repeat("x", maxRefused) + `"}`, "500 Internal Server Error", func(error) bool { return true }},
		{301, `{}`, "301 Moved Permanently", func(error) bool { return true }},
		{200, `<html>`, "decode the answer", func(error) bool { return true }},
		{200, ``, "decode the answer", func(error) bool { return true }},
	} {
		c := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(test.status)
			io.WriteString(w, test.body)
		})
		if _, err := c.Image(t.Context(), "x"); err == nil || !strings.Contains(err.Error(), test.want) || !test.is(err) {
			t.Errorf("%d %.20s: %v", test.status, test.body, err)
		}
	}
}

// What a project's file names must not become another request.
func TestNamesStayInTheirPlace(t *testing.T) {
	var asked []string
	c := serve(t, func(_ http.ResponseWriter, r *http.Request) { asked = append(asked, r.URL.Path+"?"+r.URL.RawQuery) })
	for _, name := range []string{"../containers/x", "x/../../info", "./x"} {
		if _, err := c.Image(t.Context(), name); err == nil || !strings.Contains(err.Error(), "has a name that nothing") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if asked != nil {
		t.Errorf("the daemon was asked for %q", asked)
	}
	_, _ = c.Network(t.Context(), "x?scope=swarm#y")
	if want := []string{"/networks/x?scope=swarm#y?"}; !slices.Equal(asked, want) {
		t.Errorf("the daemon was asked for %q, want %q", asked, want)
	}
}

func TestProgress(t *testing.T) {
	var got []Progress
	lines := `{"status":"Downloading","progressDetail":{"current":5,"total":10},"id":"abc"}` + "\n" + `{"status":"Pull complete","progressDetail":{},"id":"abc"}`
	if err := readProgress(strings.NewReader(lines), func(p Progress) { got = append(got, p) }); err != nil {
		t.Error(err)
	}
	if want := []Progress{{"abc", "Downloading", 5, 10}, {"abc", "Pull complete", 0, 0}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestLoad(t *testing.T) {
	for _, test := range []struct{ reply, err string }{
		{`{"stream":"Loaded image: a:1\n"}` + "\n", ""},
		{"", ""},
		{`{"stream":"x"}{"errorDetail":{"message":"no space left"},"error":"no space left"}`, "no space left"},
		{`{"errorDetail":{"message":"no space left"}}`, "no space left"},
		{`<html>`, "decode the answer"},
		{`{"stream":"` + strings.Repeat("x", maxLoaded) + `"}`, "decode the answer"},
	} {
		var sent string
		c := serve(t, func(w http.ResponseWriter, r *http.Request) {
			data, _ := io.ReadAll(r.Body)
			sent = r.Header.Get("Content-Type") + " " + string(data)
			io.WriteString(w, test.reply)
		})
		err := c.Load(t.Context(), strings.NewReader("tar"))
		if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
			t.Errorf("%.40q: error = %v, want %q", test.reply, err, test.err)
		}
		if sent != "application/x-tar tar" {
			t.Errorf("sent %q", sent)
		}
	}
}

// A connection that ends says nothing about the container.
func TestWait(t *testing.T) {
	for body, ok := range map[string]bool{`{"StatusCode":0}`: true, ``: false, `{"Sta`: false} {
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) })
		ended, err := c.Wait(t.Context(), "x")
		if err != nil {
			t.Fatal(err)
		}
		if err := ended(); (err == nil) != ok {
			t.Errorf("%q: %v", body, err)
		}
	}
}

func TestAttach(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		conn, buffer, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		fmt.Fprint(conn, "HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\nhello ") // with the answer
		data, _ := io.ReadAll(buffer)                                                                  // until CloseWrite
		fmt.Fprintf(conn, "%s %s %s", r.Method, r.URL.Path, data)
	})
	ctx, cancel := context.WithCancel(t.Context())
	s, err := c.Attach(ctx, "x")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	cancel() // no longer of any effect
	if _, err := s.Write([]byte("input")); err != nil {
		t.Fatal(err)
	}
	if err := s.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(s); string(got) != "hello POST /containers/x/attach input" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestAttachFails(t *testing.T) {
	refusing := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"message":"no such container"}`, http.StatusNotFound)
	})
	if _, err := refusing.Attach(t.Context(), "x"); !IsNotFound(err) {
		t.Errorf("refused: %v", err)
	}
	stop := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	silent := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel(stop)
		<-r.Context().Done()
	})
	if _, err := silent.Attach(ctx, "x"); !errors.Is(err, stop) {
		t.Errorf("cancelled: %v", err)
	}
	gone, err := New("unix:///nonexistent/socket")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := gone.Attach(t.Context(), "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no daemon: %v", err)
	}
	if _, err := gone.Info(t.Context()); !errors.Is(err, os.ErrNotExist) || strings.Contains(err.Error(), "http://") {
		t.Errorf("no daemon: %v", err)
	}
}

func TestOlder(t *testing.T) {
	for _, c := range []struct {
		version, than string
		want          bool
	}{
		{"1.39", "1.40", true}, {"1.40", "1.40", false}, {"1.41", "1.40", false}, {"2.0", "1.40", false}, {"1.9", "1.40", true},
		{"20.10.24+dfsg1", "23.0.11", true}, {"23.0.10", "23.0.11", true}, {"23.0.11", "23.0.11", false}, {"23.0.11-rc.1", "23.0.11", false},
		{"28.0.0-rc.1", "28.0.0", false}, {"28", "28.0.0", false}, {"", "1.40", false}, {"dev", "23.0.11", false},
	} {
		if got := Older(c.version, c.than); got != c.want {
			t.Errorf("Older(%q, %q) = %v", c.version, c.than, got)
		}
	}
}
