package host

import (
	"path/filepath"
	"runtime"
)

// CachePath returns the directory for what can be fetched again, for all projects of the
// user: PERSTACK_CACHE_PATH, else perstack in the directory that the system has for such
// things. It is empty if nobody knows where that is. An env file has no say in it: code
// is started from there.
func (h *Host) CachePath() string {
	if path := h.Getenv("PERSTACK_CACHE_PATH"); path != "" {
		return h.Path(path)
	}
	if dir := h.userCache(runtime.GOOS); dir != "" {
		return filepath.Join(dir, "perstack")
	}
	return ""
}

// userCache is os.UserCacheDir for the environment that the host keeps: that of the
// process itself was emptied.
func (h *Host) userCache(goos string) string {
	below := func(dir string, names ...string) string {
		if dir == "" {
			return ""
		}
		return filepath.Join(append([]string{dir}, names...)...)
	}
	switch goos {
	case "windows":
		return h.Getenv("LocalAppData")
	case "darwin":
		return below(h.Home, "Library", "Caches")
	}
	// A relative one is not valid, and would be another one in each directory.
	if dir := h.Getenv("XDG_CACHE_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	return below(h.Home, ".cache")
}
