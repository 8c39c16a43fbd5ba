package packages

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha1"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
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

// A registry is a small npm registry. It serves what tests publish, and counts requests.
type registry struct {
	*httptest.Server
	mu       sync.Mutex
	packages map[string]map[string]map[string]any // name, version, manifest
	tarballs map[string][]byte                    // by path
	asked    []string
	moved    map[string]string // redirects, by path
	// before is called with each request.
	before func(*http.Request)
}

func newRegistry(t *testing.T) *registry {
	t.Helper()
	r := &registry{packages: make(map[string]map[string]map[string]any), tarballs: make(map[string][]byte)}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *registry) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	if r.before != nil {
		r.before(q)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, q.URL.Path)
	if to, ok := r.moved[q.URL.Path]; ok {
		http.Redirect(w, q, to, http.StatusFound)
		return
	}
	if tarball, ok := r.tarballs[q.URL.Path]; ok {
		_, _ = w.Write(tarball) // who hung up need not hear
		return
	}
	name, _ := url.PathUnescape(strings.TrimPrefix(q.URL.EscapedPath(), "/"))
	versions := r.packages[name]
	if versions == nil {
		http.Error(w, `{"error":"not found \u001b[31m"}`, http.StatusNotFound)
		return
	}
	latest := slices.Max(slices.Collect(maps.Keys(versions)))
	w.Header().Set("Content-Type", "application/json")
	_ = json.MarshalWrite(w, map[string]any{"name": name, "dist-tags": map[string]string{"latest": latest, "old": "1.0.0"}, "versions": versions})
}

func (r *registry) requests() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.asked)
}

// publish adds a version of a package. More is added to its package.json; files are by
// their path in the package.
func (r *registry) publish(name, version string, more map[string]any, files map[string]string) {
	manifest := map[string]any{"name": name, "version": version}
	maps.Copy(manifest, more)
	text, _ := json.Marshal(manifest, json.Deterministic(true))
	files = maps.Clone(files)
	if files == nil {
		files = make(map[string]string)
	}
	files["package.json"] = string(text)
	tarball := pack(files)
	path := "/tarballs/" + name + "-" + version + ".tgz"
	weak, strong := sha1.Sum(tarball), sha512.Sum512(tarball)
	manifest["dist"] = map[string]any{
		"tarball": r.URL + path, "shasum": hex.EncodeToString(weak[:]),
		"integrity": "sha512-" + base64.StdEncoding.EncodeToString(strong[:]),
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.packages[name] == nil {
		r.packages[name] = make(map[string]map[string]any)
	}
	r.packages[name][version] = manifest
	r.tarballs[path] = tarball
}

// pack makes a tarball. A text that begins with "->" makes a link.
func pack(files map[string]string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text := files[name]
		header := &tar.Header{Name: "package/" + name, Mode: 0o644, Size: int64(len(text))}
		if to, ok := strings.CutPrefix(text, "->"); ok {
			header, text = &tar.Header{Name: "package/" + name, Linkname: to, Typeflag: tar.TypeSymlink, Mode: 0o777}, ""
		}
		_ = w.WriteHeader(header) // to memory
		_, _ = w.Write([]byte(text))
	}
	_ = w.Close()
	_ = z.Close()
	return b.Bytes()
}
