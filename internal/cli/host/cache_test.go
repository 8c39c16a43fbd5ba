package host

import (
	"path/filepath"
	"runtime"
	"testing"
)

func TestCachePath(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	tests := []struct {
		home    string
		environ []string
		want    string
	}{
		{home, []string{"PERSTACK_CACHE_PATH=cache"}, filepath.Join(dir, "cache")},
		{"", []string{"PERSTACK_CACHE_PATH=" + home}, home},
	}
	if runtime.GOOS == "linux" {
		tests = append(tests, []struct {
			home    string
			environ []string
			want    string
		}{
			{home, nil, filepath.Join(home, ".cache", "perstack")},
			{home, []string{"XDG_CACHE_HOME=" + dir}, filepath.Join(dir, "perstack")},
			{home, []string{"XDG_CACHE_HOME=relative"}, filepath.Join(home, ".cache", "perstack")},
			{"", nil, ""},
		}...)
	}
	for _, tt := range tests {
		h := &Host{Dir: dir, Home: tt.home, Environ: tt.environ}
		if got := h.CachePath(); got != tt.want {
			t.Errorf("home %q, %q: %q, want %q", tt.home, tt.environ, got, tt.want)
		}
	}
	h := &Host{Home: home, Environ: []string{"LocalAppData=" + dir}}
	for goos, want := range map[string]string{"windows": dir, "darwin": filepath.Join(home, "Library", "Caches"), "freebsd": filepath.Join(home, ".cache")} {
		if got := h.userCache(goos); got != want {
			t.Errorf("%s: %q, want %q", goos, got, want)
		}
	}
}

func TestUserConfigDir(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	for _, tt := range []struct {
		goos, home string
		environ    []string
		want       string
	}{
		{"linux", home, nil, filepath.Join(home, ".config")},
		{"linux", home, []string{"XDG_CONFIG_HOME=" + dir}, dir},
		{"linux", home, []string{"XDG_CONFIG_HOME=relative"}, filepath.Join(home, ".config")},
		{"linux", "", nil, ""},
		{"darwin", home, nil, filepath.Join(home, "Library", "Application Support")},
		{"windows", home, []string{"AppData=" + dir}, dir},
	} {
		h := &Host{Home: tt.home, Environ: tt.environ}
		if got := h.userConfigDir(tt.goos); got != tt.want {
			t.Errorf("%+v: %q", tt, got)
		}
	}
}
