package policy

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// CacheNames lists the caches that a sandbox can have.
func CacheNames() []string { return []string{"go", "npm", "pip", "cargo"} }

// A cacheDir is one directory of a cache.
type cacheDir struct {
	name  string // of the cache
	dir   string // of its changes, which are kept by this name
	path  string // where programs look for it: slashes, below home
	lower func(environment) string
}

// cacheDirs lists what can be shared. Of .npm and .cargo only downloaded packages are: logs and
// passwords lie beside them. Programs in a sandbox do not have the variables that move a cache,
// so they look in the usual place.
func cacheDirs() []cacheDir {
	return []cacheDir{
		{"go", "go-build", ".cache/go-build", func(e environment) string { return e.first("GOCACHE", e.cache("go-build")) }},
		{"go", "go-mod", "go/pkg/mod", func(e environment) string {
			return e.first("GOMODCACHE", filepath.Join(e.goPath(), "pkg", "mod"))
		}},
		{"npm", "npm", ".npm/_cacache", func(e environment) string {
			return filepath.Join(e.first("npm_config_cache", filepath.Join(e.home, ".npm")), "_cacache")
		}},
		{"pip", "pip", ".cache/pip", func(e environment) string { return e.first("PIP_CACHE_DIR", e.cache("pip")) }},
		{"cargo", "cargo-registry", ".cargo/registry", func(e environment) string { return filepath.Join(e.cargo(), "registry") }},
		{"cargo", "cargo-git", ".cargo/git", func(e environment) string { return filepath.Join(e.cargo(), "git") }},
	}
}

// An environment says where the user's caches are.
type environment struct {
	home string
	vars []string
}

// first returns the value of a variable that is an absolute path, else the usual place.
func (e environment) first(name, usual string) string {
	for _, kv := range slices.Backward(e.vars) {
		if value, ok := strings.CutPrefix(kv, name+"="); ok && filepath.IsAbs(value) && !strings.ContainsRune(value, 0) {
			return filepath.Clean(value)
		}
	}
	return usual
}

func (e environment) cache(name string) string {
	return filepath.Join(e.first("XDG_CACHE_HOME", filepath.Join(e.home, ".cache")), name)
}

func (e environment) cargo() string { return e.first("CARGO_HOME", filepath.Join(e.home, ".cargo")) }

// goPath returns the first directory of GOPATH.
func (e environment) goPath() string {
	for _, kv := range slices.Backward(e.vars) {
		if value, ok := strings.CutPrefix(kv, "GOPATH="); ok {
			if all := filepath.SplitList(value); len(all) > 0 && filepath.IsAbs(all[0]) {
				return filepath.Clean(all[0])
			}
		}
	}
	return filepath.Join(e.home, "go")
}

// Caches returns the caches of the given names, or, if names is nil, those that the user has. What
// programs write is kept below dir. A cache that lies in the workspace, or in a place that no
// sandbox shows, is not shared: programs get an empty one.
//
// Nothing is made yet, and the result has no Work: see [Prepare].
func Caches(p Places, workspace string, environ, names []string, dir string) ([]Cache, error) {
	for _, name := range names {
		if !slices.Contains(CacheNames(), name) {
			return nil, fmt.Errorf("there is no cache %q; choose from %s", name, strings.Join(CacheNames(), ", "))
		}
	}
	if !filepath.IsAbs(p.Home) || !filepath.IsAbs(dir) {
		return nil, nil // there is no place for them
	}
	e := environment{home: p.Home, vars: environ}
	places := p.follow()
	workspace, upper := follow(workspace), follow(dir)
	var all []Cache
	for _, c := range cacheDirs() {
		if names != nil && !slices.Contains(names, c.name) {
			continue
		}
		cache := Cache{Path: filepath.Join(places.home, filepath.FromSlash(c.path)), Upper: filepath.Join(dir, c.dir)}
		if in(workspace, cache.Path) {
			continue // it is part of the workspace already
		}
		if real, err := places.checkPath("cache", c.lower(e)); err == nil && isDir(real) && !touches(real, workspace) && !touches(real, upper) {
			cache.Lower = real
		}
		if cache.Lower != "" || names != nil {
			all = append(all, cache)
		}
	}
	return all, nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
