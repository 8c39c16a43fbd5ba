package docker

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/runtimes/docker/archive"
	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/internal/testkit/daemon"
)

// A depot is a real registry on this machine, seen through something that can change what
// it says, and counts requests.
type depot struct {
	host  string // 127.0.0.1:port, which daemons speak plain HTTP to
	asked atomic.Int64
	lie   atomic.Value // what changes the answers: a func(*http.Response) error
}

func startDepot(t *testing.T) *depot {
	t.Helper()
	testkit.Need(t, "docker-registry")
	dir := t.TempDir()
	config := filepath.Join(dir, "config.yml")
	text := fmt.Sprintf("version: 0.1\nlog:\n  formatter: text\nstorage:\n  filesystem:\n    rootdirectory: %s\nhttp:\n  addr: 127.0.0.1:0\n", dir)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context())) // until the test has cleaned up
	cmd := exec.CommandContext(ctx, "docker-registry", "serve", config)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGKILL) }
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	listening := regexp.MustCompile(`listening on (127\.0\.0\.1:\d+)`)
	said, address := bufio.NewScanner(stderr), ""
	for address == "" && said.Scan() {
		if found := listening.FindStringSubmatch(said.Text()); found != nil {
			address = found[1]
		}
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = io.Copy(io.Discard, stderr)
	}()
	t.Cleanup(func() {
		cancel()
		<-drained
		_ = cmd.Wait() // we killed it
	})
	if address == "" {
		t.Fatal("the registry does not say where it listens")
	}
	d := &depot{}
	d.lie.Store(honest)
	target := &url.URL{Scheme: "http", Host: address}
	front := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			d.asked.Add(1)
			r.SetURL(target)
			r.Out.Host = r.In.Host
			r.Out.Header.Set("X-Forwarded-Proto", "http")
		},
		ModifyResponse: func(r *http.Response) error {
			lie, _ := d.lie.Load().(func(*http.Response) error)
			return lie(r)
		},
	})
	t.Cleanup(front.Close)
	d.host = strings.TrimPrefix(front.URL, "http://")
	return d
}

func honest(*http.Response) error { return nil }

// push puts an image of its own into the registry under a path, takes it off the daemon,
// and returns its digest.
func (d *depot) push(t *testing.T, api *client.Client, path string) (digest string) {
	t.Helper()
	noise := make([]byte, 3<<20) // it does not shrink
	_, _ = rand.Read(noise)
	tag := daemon.Load(t, archive.Config{Env: []string{"PATH=/opt/bin:/bin"}}, []archive.File{
		{Path: "/noise", Mode: 0o444, Body: archive.Text(string(noise))},
	})
	name := d.host + "/" + path
	if _, err := api.ImageTag(t.Context(), client.ImageTagOptions{Source: tag, Target: name}); err != nil {
		t.Fatal(err)
	}
	daemon.RemoveImage(t, api, name)
	reply, err := api.ImagePush(t.Context(), name, client.ImagePushOptions{RegistryAuth: base64.URLEncoding.EncodeToString([]byte("{}"))})
	if err != nil {
		t.Fatal(err)
	}
	if err := reply.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	found, err := api.ImageInspect(t.Context(), name)
	if err != nil || len(found.RepoDigests) != 1 {
		t.Fatalf("%v, %v", found.RepoDigests, err)
	}
	_, digest, _ = strings.Cut(found.RepoDigests[0], "@")
	for _, n := range []string{name, tag} {
		if _, err := api.ImageRemove(t.Context(), n, client.ImageRemoveOptions{PruneChildren: true}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := api.ImageInspect(t.Context(), found.ID); !errdefs.IsNotFound(err) {
		t.Fatalf("the image is still there: %v", err)
	}
	return digest
}

func TestPinAndPullByDigest(t *testing.T) {
	i, d := newImagist(t), startDepot(t)
	digest := d.push(t, i.moby, "team/base:1")
	name := d.host + "/team/base:1"
	pinned, err := i.Pin(t.Context(), name, Sources{})
	if err != nil || pinned != name+"@"+digest {
		t.Fatalf("pinned to %s, %v", pinned, err)
	}
	offline := Sources{Offline: true}
	asked := d.asked.Load()
	if _, err := i.Pin(t.Context(), name, offline); err == nil || !strings.Contains(err.Error(), "offline forbids asking a registry") {
		t.Errorf("pin offline: %v", err)
	}
	if _, err := i.obtain(t.Context(), pinned, offline, i.report); err == nil || !strings.Contains(err.Error(), "offline does not let it be pulled; get it with: docker pull "+d.host+"/team/base@"+digest) {
		t.Errorf("offline: %v", err)
	}
	if d.asked.Load() != asked {
		t.Error("the registry was asked")
	}

	id, err := i.obtain(t.Context(), pinned, Sources{}, i.report)
	if err != nil {
		t.Fatal(err)
	}
	daemon.RemoveImage(t, i.moby, id)
	sizes := regexp.MustCompile(`^pulling ` + regexp.QuoteMeta(name) + `: \d\.\d of 3\.1 MB$`)
	seen := 0
	for _, e := range i.events {
		if e.Stage != "pulling" || e.Service != "image" || !strings.Contains(e.Message, name) {
			t.Errorf("event %+v", e)
		}
		if sizes.MatchString(e.Message) && e.Progress != nil && *e.Progress >= 0 && *e.Progress <= 1 {
			seen++
		}
	}
	if seen == 0 || len(i.events) > 13 {
		t.Errorf("events %+v", i.events)
	}

	// Once it is there, no registry is asked, and the name stands for what is there.
	asked = d.asked.Load()
	if again, err := i.obtain(t.Context(), pinned, offline, i.report); err != nil || again != id {
		t.Errorf("again: %s, %v", again, err)
	}
	if _, err := i.moby.ImageTag(t.Context(), client.ImageTagOptions{Source: id, Target: name}); err != nil {
		t.Fatal(err)
	}
	daemon.RemoveImage(t, i.moby, name)
	if again, err := i.Pin(t.Context(), name, Sources{}); err != nil || again != pinned {
		t.Errorf("of what is there: %s, %v", again, err)
	}
	if d.asked.Load() != asked {
		t.Error("the registry was asked about what is there")
	}
	if again, err := i.Pin(t.Context(), name, Sources{Fresh: true}); err != nil || again != pinned || d.asked.Load() == asked {
		t.Errorf("asked again: %s, %v", again, err)
	}
	// A run can stand on it.
	spec := i.spec(t)
	spec.Base, spec.BaseName = id, name
	i.image(t, spec)
}

// Mirrors are asked in their order, before anybody else, and cannot have another content.
func TestPullFromMirrors(t *testing.T) {
	i, d := newImagist(t), startDepot(t)
	repository := daemon.Name(t) + "/base"
	digest := d.push(t, i.moby, repository+":1")
	from := Sources{Mirrors: []string{"127.0.0.1:1", d.host}}
	pinned, err := i.Pin(t.Context(), repository+":1", from)
	if err != nil || pinned != repository+":1@"+digest {
		t.Fatalf("pinned to %s, %v", pinned, err)
	}
	id, err := i.obtain(t.Context(), pinned, from, i.report)
	if err != nil {
		t.Fatal(err)
	}
	daemon.RemoveImage(t, i.moby, id)
	if again, err := i.obtain(t.Context(), pinned, Sources{Mirrors: from.Mirrors, Offline: true}, i.report); err != nil || again != id {
		t.Errorf("again: %s, %v", again, err)
	}
}

// A registry that serves something else than what was pinned is found out.
func TestWrongDigestIsRefused(t *testing.T) {
	i, d := newImagist(t), startDepot(t)
	good, evil := d.push(t, i.moby, "team/good:1"), d.push(t, i.moby, "team/good:2")
	if good == evil {
		t.Fatal("both are the same")
	}
	name := d.host + "/team/good"
	// The other manifest comes under the name of the pinned one.
	lie := func(r *http.Response) error {
		if !strings.HasSuffix(r.Request.URL.Path, "/manifests/"+good) {
			return nil
		}
		r.Header.Set("Docker-Content-Digest", good)
		if r.Request.Method == http.MethodHead {
			return nil
		}
		request, err := http.NewRequestWithContext(r.Request.Context(), http.MethodGet, strings.ReplaceAll(r.Request.URL.String(), good, evil), http.NoBody)
		if err != nil {
			return err
		}
		request.Header = r.Request.Header
		other, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		defer other.Body.Close()
		manifest, err := io.ReadAll(other.Body)
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(manifest)), int64(len(manifest))
		r.Header.Set("Content-Length", strconv.Itoa(len(manifest)))
		return err
	}
	d.lie.Store(lie)
	id, err := i.obtain(t.Context(), name+"@"+good, Sources{}, i.report)
	if err == nil || !strings.Contains(err.Error(), "cannot be pulled") || !strings.Contains(err.Error(), "digest") {
		t.Errorf("%s, %v", id, err)
	}
	if id, err := i.holds(t.Context(), reference{name: name, digest: evil}); id != "" || err != nil {
		t.Errorf("the other one is there: %s, %v", id, err)
	}
	d.lie.Store(honest)
	if id, err := i.obtain(t.Context(), name+"@"+good, Sources{}, i.report); err != nil {
		t.Error(err)
	} else {
		daemon.RemoveImage(t, i.moby, id)
	}
}

func TestImagesThatCannotBeObtained(t *testing.T) {
	i, d := newImagist(t), startDepot(t)
	for name, test := range map[string]struct {
		pinned string
		from   Sources
		want   string
	}{
		"nowhere":      {d.host + "/team/nothing@" + someDigest, Sources{}, "cannot be pulled; docker pull " + d.host + "/team/nothing@" + someDigest},
		"an id":        {someDigest, Sources{}, "an id says nothing of where it comes from"},
		"not pinned":   {"node:24", Sources{}, "is not pinned"},
		"an option":    {"--all@" + someDigest, Sources{}, "is not the name of an image"},
		"a bad mirror": {"node@" + someDigest, Sources{Mirrors: []string{"x"}}, "is not the address of a registry"},
	} {
		t.Run(name, func(t *testing.T) {
			if id, err := i.obtain(t.Context(), test.pinned, test.from, i.report); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s, error %v", id, err)
			}
		})
	}
	// A lockfile with an id comes from another daemon, or the image was removed.
	_, err := (&runner{}).obtain(t.Context(), i.Daemon, "node:24", someDigest, i.report)
	if want := "the lockfile pins the image node:24 to the id " + someDigest + ", which this daemon does not have"; err == nil || !strings.HasPrefix(err.Error(), want) || !isPinError(err, true) {
		t.Errorf("an id of a lockfile: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	_, err = i.obtain(ctx, d.host+"/team/nothing@"+someDigest, Sources{}, func(event.Body) { cancel(why) })
	if !errors.Is(err, why) {
		t.Errorf("stopped: %v", err)
	}
}

// An image that was made here has no digest in any registry; its id says as much.
func TestPinALocalImage(t *testing.T) {
	i := newImagist(t)
	name := loadBase(t, nil)
	pinned, err := i.Pin(t.Context(), name, Sources{Offline: true})
	if err != nil || pinned != i.id(t, name) {
		t.Errorf("pinned to %s, %v", pinned, err)
	}
	if id, err := i.obtain(t.Context(), pinned, Sources{Offline: true}, i.report); err != nil || id != pinned || len(i.events) > 0 {
		t.Errorf("%s, %v, %v", id, err, i.events)
	}
	for _, as := range []string{pinned, "node@" + someDigest} {
		if again, err := i.Pin(t.Context(), as, Sources{}); err != nil || again != as {
			t.Errorf("%s: %s, %v", as, again, err)
		}
	}
	if _, err := i.Pin(t.Context(), "-x", Sources{}); err == nil {
		t.Error("an option is pinned")
	}
}

func TestProgressOfAPull(t *testing.T) {
	var got []string
	p := &pulled{name: "node:24", parts: map[string]part{}, report: func(b event.Body) { got = append(got, b.(event.DockerBuildProgress).Message) }}
	for n := range int64(1000) {
		p.tell("a", n*1e5, 100e6)
		p.tell("b", n*3e4, 30e6)
	}
	p.tell("a", 200e6, 100e6)
	p.tell("b", 30e6, 30e6)
	p.tell("c", 1, 0)
	if len(got) != 11 || got[0] != "pulling node:24: 0.0 of 100.0 MB" || got[5] != "pulling node:24: 65.0 of 130.0 MB" || got[10] != "pulling node:24: 130.0 of 130.0 MB" {
		t.Errorf("%d: %q", len(got), got)
	}
}
