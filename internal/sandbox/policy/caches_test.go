package policy

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestCaches(t *testing.T) {
	type row struct{ path, lower, upper string } // path below home, lower and upper below the directory
	for name, test := range map[string]struct {
		files   []string
		environ []string
		names   []string
		want    []row
	}{
		"what exists": {
			files: []string{"home/.cache/go-build/", "home/.npm/_cacache/", "home/.npm/_logs/", "home/.cargo/registry/", "home/.cargo/credentials.toml"},
			want: []row{
				{".cache/go-build", "home/.cache/go-build", "go-build"}, {".npm/_cacache", "home/.npm/_cacache", "npm"}, {".cargo/registry", "home/.cargo/registry", "cargo-registry"},
			},
		},
		"none":                   {files: []string{"home/.cache/go-build/"}, names: []string{}},
		"what is named is empty": {names: []string{"go", "pip"}, want: []row{{".cache/go-build", "", "go-build"}, {"go/pkg/mod", "", "go-mod"}, {".cache/pip", "", "pip"}}},
		"variables": {
			files: []string{"data/build/", "data/mod/", "data/npm/_cacache/", "data/pip/", "data/cargo/registry/", "data/cargo/git/"},
			environ: []string{
				"GOCACHE=DIR/data/build", "GOMODCACHE=DIR/data/mod", "npm_config_cache=DIR/data/npm", "PIP_CACHE_DIR=DIR/data/pip", "CARGO_HOME=DIR/data/cargo",
			},
			want: []row{
				{".cache/go-build", "data/build", "go-build"}, {"go/pkg/mod", "data/mod", "go-mod"}, {".npm/_cacache", "data/npm/_cacache", "npm"}, {".cache/pip", "data/pip", "pip"},
				{".cargo/registry", "data/cargo/registry", "cargo-registry"}, {".cargo/git", "data/cargo/git", "cargo-git"},
			},
		},
		"GOPATH and XDG_CACHE_HOME": {
			files:   []string{"data/go/pkg/mod/", "data/cache/go-build/", "data/cache/pip/"},
			environ: []string{"GOPATH=DIR/data/go:DIR/other", "XDG_CACHE_HOME=DIR/data/cache"}, names: []string{"go", "pip"},
			want: []row{{".cache/go-build", "data/cache/go-build", "go-build"}, {"go/pkg/mod", "data/go/pkg/mod", "go-mod"}, {".cache/pip", "data/cache/pip", "pip"}},
		},
		"variables that mean nothing": {
			files:   []string{"home/.cache/go-build/"},
			environ: []string{"GOCACHE=off", "GOMODCACHE=mod", "XDG_CACHE_HOME=", "x"},
			want:    []row{{".cache/go-build", "home/.cache/go-build", "go-build"}},
		},
		"places that are never shown": {
			files:   []string{"home/.gnupg/registry/", "work/cache/"},
			environ: []string{"GOCACHE=/", "GOMODCACHE=DIR/home", "PIP_CACHE_DIR=DIR/work/cache", "CARGO_HOME=DIR/home/.gnupg", "npm_config_cache=DIR/state/projects/p"},
			names:   CacheNames(),
			want: []row{
				{".cache/go-build", "", "go-build"}, {"go/pkg/mod", "", "go-mod"}, {".npm/_cacache", "", "npm"}, {".cache/pip", "", "pip"},
				{".cargo/registry", "", "cargo-registry"}, {".cargo/git", "", "cargo-git"},
			},
		},
		"a link and a file": {
			files: []string{"home/.cache -> ../data", "data/go-build/", "data/pip"},
			want:  []row{{".cache/go-build", "data/go-build", "go-build"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := tempDir(t)
			build(t, dir, append(test.files, "home/", "work/", "state/projects/p/cache/_cacache/")...)
			at := func(name string) string { return filepath.Join(dir, name) }
			var environ []string
			for _, kv := range test.environ {
				environ = append(environ, strings.NewReplacer("=DIR", "="+dir, ":DIR", string(filepath.ListSeparator)+dir).Replace(kv))
			}
			var want []Cache
			for _, r := range test.want {
				c := Cache{Path: at("home/" + r.path), Upper: at("state/projects/p/cache/" + r.upper)}
				if r.lower != "" {
					c.Lower = at(r.lower)
				}
				want = append(want, c)
			}
			got, err := Caches(Places{Home: at("home"), State: at("state")}, at("work"), environ, test.names, at("state/projects/p/cache"))
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
				t.Error(diff, err)
			}
		})
	}
}

func TestCachesRefused(t *testing.T) {
	_, err := Caches(Places{Home: "/home/ann"}, "/w", nil, []string{"go", "maven"}, "/state/cache")
	if err == nil || !strings.Contains(err.Error(), `no cache "maven"; choose from go, npm, pip, cargo`) {
		t.Errorf("got %v", err)
	}
	if got, err := Caches(Places{}, "/w", nil, []string{"go"}, "/state/cache"); err != nil || got != nil {
		t.Errorf("without a home directory: %v, %v", got, err)
	}
}

// The home directory can be part of the workspace in tests and containers only; its caches are
// then files of the workspace.
func TestCachesInWorkspace(t *testing.T) {
	dir := tempDir(t)
	build(t, dir, "w/home/.cache/pip/")
	got, err := Caches(Places{Home: filepath.Join(dir, "w/home")}, filepath.Join(dir, "w"), nil, nil, filepath.Join(dir, "cache"))
	if err != nil || len(got) != 0 {
		t.Errorf("got %v, %v", got, err)
	}
}

// What programs wrote cannot be the cache that they must not change.
func TestCachesInTheirOwnChanges(t *testing.T) {
	dir := tempDir(t)
	build(t, dir, "home/", "cache/pip/0/upper/")
	environ := []string{"PIP_CACHE_DIR=" + filepath.Join(dir, "cache/pip/0/upper")}
	got, err := Caches(Places{Home: filepath.Join(dir, "home")}, filepath.Join(dir, "w"), environ, []string{"pip"}, filepath.Join(dir, "cache"))
	if err != nil || len(got) != 1 || got[0].Lower != "" {
		t.Errorf("got %v, %v", got, err)
	}
}
