package node

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
)

// Scope is that of the packages that a [Registry] has. All others come from the cache.
const Scope = "@hostile"

// A Registry is a small npm registry on this machine, for packages that tests publish.
type Registry struct {
	url      string
	mu       sync.Mutex
	packages map[string]manifest // by name; each has one version
	tarballs map[string][]byte   // by path
}

// A manifest is a package.json.
type manifest map[string]any

// A File is a file of a package.
type File struct {
	Data       []byte
	Executable bool
}

// NewRegistry starts a registry that lives as long as the test.
func NewRegistry(tb testing.TB) *Registry {
	tb.Helper()
	r := &Registry{packages: map[string]manifest{}, tarballs: map[string][]byte{}}
	server := httptest.NewServer(r)
	tb.Cleanup(server.Close)
	r.url = server.URL
	return r
}

// Settings is an .npmrc that leads to this registry for the packages of [Scope].
func (r *Registry) Settings() string { return Scope + ":registry=" + r.url + "/\n" }

// Publish adds a package whose program is a script of it.
func (r *Registry) Publish(tb testing.TB, name, version, program string, files map[string]File) {
	tb.Helper()
	m := manifest{"name": name, "version": version, "bin": program}
	text, err := json.Marshal(m, json.Deterministic(true))
	if err != nil {
		tb.Fatal(err)
	}
	files = maps.Clone(files)
	files["package.json"] = File{Data: text}
	tarball, err := pack(files)
	if err != nil {
		tb.Fatal(err)
	}
	path := "/tarballs/" + strings.ReplaceAll(name, "/", "-") + "-" + version + ".tgz"
	sum := sha512.Sum512(tarball)
	m["dist"] = manifest{"tarball": r.url + path, "integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:])}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.packages[name], r.tarballs[path] = m, tarball
}

func (r *Registry) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if tarball, ok := r.tarballs[q.URL.Path]; ok {
		_, _ = w.Write(tarball) // who hung up need not hear
		return
	}
	name, _ := url.PathUnescape(strings.TrimPrefix(q.URL.EscapedPath(), "/"))
	m, ok := r.packages[name]
	if !ok {
		http.NotFound(w, q)
		return
	}
	version, _ := m["version"].(string)
	w.Header().Set("Content-Type", "application/json")
	_ = json.MarshalWrite(w, manifest{"name": name, "dist-tags": manifest{"latest": version}, "versions": map[string]manifest{version: m}})
}

// pack makes a tarball, of equal bytes for equal files.
func pack(files map[string]File) ([]byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f := files[name]
		header := &tar.Header{Name: "package/" + name, Mode: 0o644, Size: int64(len(f.Data))}
		if f.Executable {
			header.Mode = 0o755
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.Data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
