package credentials

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/secret"
)

func TestMain(m *testing.M) {
	sandbox.Init()
	os.Exit(m.Run())
}

const (
	home = "https://registry.example.com"
	key  = "psk_live_9fKx2LmQ8vTz4Wb7"
)

var now = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

func newStore(t *testing.T) *Store {
	t.Helper()
	return &Store{
		File: File{filepath.Join(t.TempDir(), "perstack", FileName)}, Secrets: new(secret.Set),
		Now: func() time.Time { return now },
	}
}

func TestLogin(t *testing.T) {
	s, ctx := newStore(t), t.Context()
	if _, err := s.Registry(ctx, home, ""); !errors.Is(err, ErrNone) {
		t.Errorf("before: %v", err)
	}
	if found, err := s.Logout(ctx, home); found || err != nil {
		t.Errorf("logout before: %v, %v", found, err)
	}
	if _, err := os.Lstat(filepath.Dir(s.File.Path)); err == nil {
		t.Error("reading made the directory")
	}
	if err := s.Login(ctx, home+"/", Login{Key: key, Account: "acme", Ends: now.Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	for path, mode := range map[string]os.FileMode{s.File.Path: 0o600, filepath.Dir(s.File.Path): 0o700} {
		if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
	want := Credential{Key: key, Account: "acme", Ends: now.Add(time.Hour), From: FromFile}
	for _, address := range []string{home, home + "/", home + ":443/api", "HTTPS://Registry.Example.COM."} {
		if got, err := s.Registry(ctx, address, ""); err != nil || !cmp.Equal(got, want) {
			t.Errorf("%s: %v, %v", address, got, err)
		}
	}
	if text := fmt.Sprint(want); strings.Contains(text, key) {
		t.Errorf("printed as %s", text)
	}
	// A key is for one origin.
	for _, address := range []string{"https://registry.example.com:8443", "https://example.com", "https://a.registry.example.com", "https://registry.example.com.evil.example"} {
		if got, err := s.Registry(ctx, address, ""); !errors.Is(err, ErrNone) || got.Key != "" {
			t.Errorf("%s: %v", address, err)
		}
	}
	for _, address := range []string{"http://registry.example.com", "https://me:" + key + "@registry.example.com", "registry.example.com", ""} {
		if _, err := s.Registry(ctx, address, ""); err == nil || errors.Is(err, ErrNone) || strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", address, err)
		}
	}
	// The environment is stronger than the file.
	if got, err := s.Registry(ctx, home, " other-key-of-mine\n"); err != nil || got.Key != "other-key-of-mine" || got.From != FromEnvironment {
		t.Errorf("environment: %v, %v", got, err)
	}
	if found, err := s.Logout(ctx, home); !found || err != nil {
		t.Errorf("logout: %v, %v", found, err)
	}
	if _, err := s.Registry(ctx, home, ""); !errors.Is(err, ErrNone) {
		t.Errorf("after: %v", err)
	}
}

func TestLoginEnds(t *testing.T) {
	s := newStore(t)
	if err := s.Login(t.Context(), home, Login{Key: key, Ends: now}); err != nil {
		t.Fatal(err)
	}
	var expired *ExpiredError
	if _, err := s.Registry(t.Context(), home, ""); !errors.As(err, &expired) || expired.Origin != home {
		t.Error(err)
	}
}

// All keys of the file are hidden as soon as it is read, not only the one that is asked for.
func TestKeysAreHidden(t *testing.T) {
	s := newStore(t)
	for i, address := range []string{home, "https://b.example.com"} {
		if err := s.Login(t.Context(), address, Login{Key: fmt.Sprint(key, i)}); err != nil {
			t.Fatal(err)
		}
	}
	secrets := new(secret.Set)
	s.Secrets = secrets
	_, _ = s.Registry(t.Context(), "https://other.example.com", "")
	got := secrets.Redact("a " + key + "0 b " + key + "1 c")
	if want := "a [redacted: login-registry.example.com] b [redacted: login-b.example.com] c"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Two logins at once are both kept.
func TestLoginsAtOnce(t *testing.T) {
	s := newStore(t)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if err := s.Login(t.Context(), fmt.Sprintf("https://r%d.example.com", i), Login{Key: key}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if logins, err := s.File.Load(); err != nil || len(logins.Registries) != 8 {
		t.Errorf("%d logins, %v", len(logins.Registries), err)
	}
}

func TestLoginRefused(t *testing.T) {
	s := newStore(t)
	for name, l := range map[string]Login{
		"empty":       {},
		"line break":  {Key: key + "\nX-Other: 1"},
		"blank":       {Key: "my key"},
		"not ASCII":   {Key: "schlüssel"},
		"long":        {Key: strings.Repeat("k", maxKey+1)},
		"account":     {Key: key, Account: "a\x1b[2J"},
		"helper path": {Key: key, Helper: "../evil"},
		"helper dot":  {Key: key, Helper: "a.b"},
	} {
		if err := s.Login(t.Context(), home, l); err == nil || strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Lstat(s.File.Path); err == nil {
		t.Error("the file was made")
	}
}

const good = `{"version":1,"registries":{"https://registry.example.com":{"kind":"key","key":"` + key + `","stored":"2026-01-02T03:04:05Z"}},` +
	`"providers":{"anthropic":{"kind":"key","key":"sk-1234567890","stored":"2026-01-02T03:04:05Z"}},"runtimes":{"codex":{"kind":"helper","helper":"pass","stored":"2026-01-02T03:04:05Z"}}}`

// Providers and runtimes have their place, and a login for a registry does not touch them.
func TestOtherLoginsStay(t *testing.T) {
	s := newStore(t)
	put(t, s.File, good, 0o600)
	if err := s.Login(t.Context(), "https://b.example.com", Login{Key: key}); err != nil {
		t.Fatal(err)
	}
	logins, err := s.File.Load()
	if err != nil || logins.Providers["anthropic"].Key != "sk-1234567890" || logins.Runtimes["codex"].Helper != "pass" || len(logins.Registries) != 2 {
		t.Errorf("%+v, %v", logins, err)
	}
}

func put(t *testing.T, f File, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(f.Path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(f.Path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(f.Path, mode); err != nil {
		t.Fatal(err)
	}
}

// A file that others may have read or written is refused, and no error repeats a key. An address, a
// proxy or a certificate in it is no member that a login has.
func TestFileRefused(t *testing.T) {
	with := func(old, new string) string { return strings.Replace(good, old, new, 1) }
	for name, c := range map[string]struct {
		text string
		mode os.FileMode
		want string
	}{
		"readable":     {good, 0o640, "chmod 600"},
		"writable":     {good, 0o602, "chmod 600"},
		"not JSON":     {good[:60], 0o600, "not JSON"},
		"empty":        {"", 0o600, "not JSON"},
		"twice":        {with(`"version":1`, `"version":1,"version":1`), 0o600, "not JSON"},
		"newer":        {with(`"version":1`, `"version":2`), 0o600, "version 2"},
		"no version":   {with(`"version":1,`, ``), 0o600, "version 0"},
		"base URL":     {with(`"kind":"key",`, `"kind":"key","baseUrl":"https://evil.example",`), 0o600, "no login has"},
		"proxy":        {with(`"version":1`, `"version":1,"proxy":"http://evil.example"`), 0o600, "no login has"},
		"CA file":      {with(`"kind":"key",`, `"kind":"key","caFile":"/tmp/ca.pem",`), 0o600, "no login has"},
		"wrong kind":   {with(`"kind":"key"`, `"kind":"token"`), 0o600, "as its kind says"},
		"both":         {with(`"kind":"key"`, `"kind":"key","helper":"pass"`), 0o600, "as its kind says"},
		"number":       {with(`"`+key+`"`, `12`), 0o600, "wrong kind at byte"},
		"header":       {with(key, key+`\r\nX: y`), 0o600, "line break"},
		"path":         {with(home, home+"/path"), 0o600, "scheme, host and port"},
		"plain http":   {with(home, "http://registry.example.com"), 0o600, "scheme, host and port"},
		"upper case":   {with(home, "https://Registry.example.com"), 0o600, "scheme, host and port"},
		"helper":       {with(`"helper":"pass"`, `"helper":"../x"`), 0o600, "name of a helper"},
		"hidden name":  {with(`"anthropic"`, `"\u202eanthropic"`), 0o600, "not printable"},
		"large":        {good + strings.Repeat(" ", maxFile), 0o600, "larger than"},
		"second value": {good + good, 0o600, "not JSON"},
	} {
		if c.mode != 0o600 && runtime.GOOS == "windows" {
			continue
		}
		s := newStore(t)
		put(t, s.File, c.text, c.mode)
		_, err := s.Registry(t.Context(), home, "")
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if err := s.Login(t.Context(), home, Login{Key: key}); err == nil {
			t.Errorf("%s: it was replaced", name)
		}
	}
}

func TestLinkRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need rights here")
	}
	for name, link := range map[string]func(old, new string) error{"link": os.Symlink, "second name": os.Link} {
		s := newStore(t)
		put(t, s.File, good, 0o600)
		other := filepath.Join(t.TempDir(), "other.json")
		if err := errors.Join(os.Rename(s.File.Path, other), link(other, s.File.Path)); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Registry(t.Context(), home, ""); err == nil || !strings.Contains(err.Error(), name) && !strings.Contains(err.Error(), "hard link") {
			t.Errorf("%s: %v", name, err)
		}
	}
	s := newStore(t)
	if err := os.MkdirAll(s.File.Path, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := s.File.Load(); err == nil {
		t.Error("a directory was read")
	}
}

// A directory that others can write to is refused; one that they can read is closed at a login.
func TestDirectory(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes say nothing here")
	}
	s := newStore(t)
	put(t, s.File, good, 0o600)
	dir := filepath.Dir(s.File.Path)
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := s.File.Load(); err == nil {
		t.Error("read from a shared directory")
	}
	if err := s.Login(t.Context(), home, Login{Key: key}); err == nil {
		t.Error("written to a shared directory")
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := s.Login(t.Context(), home, Login{Key: key}); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte(`{"version":1}`))
	f.Add([]byte(`{"version":1,"registries":{"http://127.0.0.1:8080":{"kind":"helper","helper":"pass","stored":"2026-01-02T03:04:05Z"}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		logins, err := parse(data)
		if err != nil {
			return
		}
		for origin, entry := range logins.Registries {
			if own, err := Origin(origin); err != nil || own != origin {
				t.Errorf("accepted the origin %q", origin)
			}
			if (entry.Key == "") == (entry.Helper == "") {
				t.Errorf("accepted %q with both or none", origin)
			}
		}
	})
}
