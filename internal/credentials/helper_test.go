//go:build unix

package credentials

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perstack-go/perstack/internal/sandbox"
)

// helpers returns helpers that are shell scripts, by their names. Each keeps its state in STATE.
func helpers(t *testing.T, scripts map[string]string) Helpers {
	t.Helper()
	dir := t.TempDir()
	for name, script := range scripts {
		text := "#!/bin/sh\nSTATE=" + filepath.Join(dir, "state") + "\n" + script + "\n"
		if err := os.WriteFile(filepath.Join(dir, "docker-credential-"+name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	commands := sandbox.NewSupervisor()
	t.Cleanup(func() {
		if err := commands.Close(); err != nil {
			t.Error(err)
		}
	})
	return Helpers{Commands: commands, Dir: dir, Environ: []string{"PATH=" + dir + ":/usr/bin:/bin", "HOME=" + dir, "PERSTACK_API_KEY=not-for-helpers", "GNUPGHOME=" + dir}}
}

// honest keeps one key.
const honest = `case $1 in
store) cat > "$STATE" ;;
get) read -r server; if grep -qF "\"$server\"" "$STATE" 2>/dev/null; then cat "$STATE"; else echo "credentials not found in native keychain"; exit 1; fi ;;
erase) rm -f "$STATE" ;;
esac`

func TestHelper(t *testing.T) {
	s, ctx := newStore(t), t.Context()
	s.Helpers = helpers(t, map[string]string{"good": honest})
	if err := s.Login(ctx, home, Login{Key: key, Account: "acme", Helper: "good"}); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(s.File.Path); err != nil || strings.Contains(string(text), key) {
		t.Errorf("the key is in the file, too: %v", err)
	}
	got, err := s.Registry(ctx, home, "")
	if err != nil || got.Key != key || got.From != FromHelper || got.Account != "acme" {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := s.Helpers.Get(ctx, "good", "https://other.example.com"); !errors.Is(err, ErrNone) {
		t.Errorf("another server: %v", err)
	}
	if found, err := s.Logout(ctx, home); !found || err != nil {
		t.Errorf("%v, %v", found, err)
	}
	if _, err := s.Helpers.Get(ctx, "good", home); !errors.Is(err, ErrNone) {
		t.Errorf("after the logout: %v", err)
	}
	// A login without the helper takes the key out of the keychain.
	if err := errors.Join(s.Login(ctx, home, Login{Key: key, Helper: "good"}), s.Login(ctx, home, Login{Key: key + "2"})); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Helpers.Get(ctx, "good", home); !errors.Is(err, ErrNone) {
		t.Errorf("after another login: %v", err)
	}
}

// A helper gets the variables of the user's session, and no keys.
func TestHelperEnvironment(t *testing.T) {
	h := helpers(t, map[string]string{"env": `[ -n "$GNUPGHOME" ] && [ -z "$PERSTACK_API_KEY" ] && echo '{"ServerURL":"` + home + `","Username":"u","Secret":"` + key + `"}'`})
	if got, err := h.Get(t.Context(), "env", home); err != nil || got.Secret != key {
		t.Errorf("%v", err)
	}
}

// A helper that hangs, lies or floods is an error that says so, and no key.
func TestHelperRefused(t *testing.T) {
	h := helpers(t, map[string]string{
		"hangs":    "exec sleep 1000",
		"deaf":     "trap '' TERM; while :; do sleep 1; done",
		"floods":   "exec cat /dev/zero",
		"shouts":   "cat /dev/zero >&2",
		"liar":     `echo '{"ServerURL":"https://other.example.com","Username":"u","Secret":"` + key + `"}'`,
		"text":     "echo " + key,
		"silent":   "exit 0",
		"empty":    `echo '{"ServerURL":"` + home + `","Username":"u","Secret":""}'`,
		"header":   `printf '%s' '{"ServerURL":"` + home + `","Username":"u","Secret":"a\r\nX: y"}'`,
		"twice":    `echo '{"Secret":"a","Secret":"b"}'`,
		"hidden":   `printf '%s' '{"Username":"\u202eu","Secret":"` + key + `"}'`,
		"fails":    `printf 'no keychain\033[2J\nsecond line'; exit 3`,
		"dies":     "kill -9 $$",
		"forgets":  `case $1 in store) cat >/dev/null ;; *) echo "credentials not found in native keychain"; exit 1 ;; esac`,
		"swaps":    `case $1 in store) cat >/dev/null ;; *) echo '{"Secret":"another-key"}' ;; esac`,
		"repeater": `cat; exit 1`,
	})
	for name, want := range map[string]string{
		"floods": "more than 64 KiB", "shouts": "more than 64 KiB", "liar": "another server", "text": "not the JSON", "silent": "not the JSON",
		"empty": "the key is empty", "header": "line break", "twice": "not the JSON", "hidden": "not printable", "fails": "exit status 3: no keychain",
		"dies": "killed by SIGKILL", "missing": "program not found", "a/b": "name of a helper", "": "name of a helper",
	} {
		got, err := h.Get(t.Context(), name, home)
		if err == nil || !strings.Contains(err.Error(), want) || got.Secret != "" || strings.ContainsAny(err.Error(), "\x1b\n") || strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	for name, want := range map[string]string{"forgets": "has no key", "swaps": "another key", "repeater": "exit status 1"} {
		if err := h.Store(t.Context(), name, Answer{home, "u", key}); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	slow := h
	slow.Timeout = 50 * time.Millisecond
	if _, err := slow.Get(t.Context(), "hangs", home); err == nil || !strings.Contains(err.Error(), "does not answer within 50ms") {
		t.Errorf("hangs: %v", err)
	}
	if !testing.Short() {
		if _, err := slow.Get(t.Context(), "deaf", home); err == nil || !strings.Contains(err.Error(), "does not answer") {
			t.Errorf("deaf: %v", err)
		}
	}
	planted := h
	planted.Check = func(string) error { return errors.New("it is in the workspace") }
	if _, err := planted.Get(t.Context(), "text", home); err == nil || !strings.Contains(err.Error(), "in the workspace") {
		t.Errorf("planted: %v", err)
	}
}
