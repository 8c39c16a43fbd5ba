package mcp

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/internal/cli/host"
)

// A token of a file is what the file holds, and never shown; without a file each server
// has one of its own.
func TestToken(t *testing.T) {
	dir := t.TempDir()
	var stderr bytes.Buffer
	h := &host.Host{Dir: dir, Home: t.TempDir(), Stderr: &stderr}
	h.GuardStderr()
	write := func(name, text string, mode os.FileMode) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil { // whatever the umask
			t.Fatal(err)
		}
	}
	write("good", " kX82mQ0vT4nB7cLw9rJd==\r\n", 0o600)
	o := &Options{Host: h, HTTP: true, TokenFile: "good"}
	got, err := o.readToken()
	if err != nil || got != "kX82mQ0vT4nB7cLw9rJd==" {
		t.Errorf("%q, %v", got, err)
	}
	o.announce(got)("http://127.0.0.1:1/mcp")
	if text := stderr.String(); text != "Listening on http://127.0.0.1:1/mcp\n" {
		t.Errorf("it says %q", text)
	}
	if text := h.Secrets.Redact("it is " + got); strings.Contains(text, got) {
		t.Errorf("it is shown: %s", text)
	}

	for name, text := range map[string]string{
		"short": "kX82mQ0vT4nB7cL", "two": "kX82mQ0vT4nB7cLw9rJd\nkX82mQ0vT4nB7cLw9rJd\n", "blank": "kX82mQ0vT4nB 7cLw9rJd",
		"long": strings.Repeat("x", 513), "header": "kX82mQ0vT4nB7cLw\r\nX-Evil: 1", "null": "kX82mQ0vT4nB7cLw\x00",
	} {
		write(name, text, 0o600)
		if _, err := (&Options{Host: h, TokenFile: name}).readToken(); err == nil || strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if runtime.GOOS != "windows" {
		for _, mode := range []os.FileMode{0o640, 0o604, 0o620, 0o602} {
			write("open", "kX82mQ0vT4nB7cLw9rJd", mode)
			if _, err := (&Options{Host: h, TokenFile: "open"}).readToken(); err == nil || !strings.Contains(err.Error(), "chmod 600") {
				t.Errorf("mode %o: %v", mode, err)
			}
		}
	}

	stderr.Reset()
	o = &Options{Host: h, HTTP: true}
	one, err := o.readToken()
	if err != nil {
		t.Fatal(err)
	}
	if two, err := o.readToken(); err != nil || one == two || !regexp.MustCompile(`^[A-Z2-7]{26,}$`).MatchString(one) {
		t.Errorf("%q, then %q, %v", one, two, err)
	}
	o.announce(one)("http://127.0.0.1:1/mcp")
	o.announce(one)("http://127.0.0.1:1/mcp") // it is a secret by now
	if n := strings.Count(stderr.String(), one); n != 1 {
		t.Errorf("the token is printed %d times: %s", n, stderr.String())
	}
}

// The file of the token is kept from the tools.
func TestTokenFileIsProtected(t *testing.T) {
	dir := t.TempDir()
	r, err := loadRules(t.Context(), &Options{Host: &host.Host{Dir: dir, Home: t.TempDir(), Source: engine.SystemSource()}, HTTP: true, TokenFile: "token"})
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(dir, "token"); !strings.Contains(strings.Join(r.protected, "\n"), want) {
		t.Errorf("%s is not among %q", want, r.protected)
	}
}
