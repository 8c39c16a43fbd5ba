package account

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/credentials"
	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/testkit/registrytest"
)

func TestMain(m *testing.M) {
	sandbox.Init()
	os.Exit(m.Run())
}

const key = "psk_key_abcdefghijkl_9fKx2LmQ8vTz4Wb7"

// user returns the host of a user without a login, and what it prints.
func user(t *testing.T, stdin string, environ ...string) (h *host.Host, out, errs *bytes.Buffer) {
	t.Helper()
	home := t.TempDir()
	out, errs = &bytes.Buffer{}, &bytes.Buffer{}
	return &host.Host{
		Stdin: strings.NewReader(stdin), Stdout: out, Stderr: errs, Dir: t.TempDir(), Home: home, Command: "perstack", Source: engine.SystemSource(),
		Environ: append([]string{"XDG_CONFIG_HOME=" + filepath.Join(home, "c"), "AppData=" + filepath.Join(home, "c"), "XDG_STATE_HOME=" + filepath.Join(home, "s"), "LocalAppData=" + home, "PATH=" + os.Getenv("PATH")}, environ...),
	}, out, errs
}

// call runs a command.
func call(t *testing.T, cmd *cobra.Command, args ...string) error {
	t.Helper()
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	return cmd.ExecuteContext(t.Context())
}

// A registry whose answers about keys a test chooses.
func answering(t *testing.T, who func(w http.ResponseWriter, key string)) *registrytest.Registry {
	t.Helper()
	r := registrytest.New(t, httptest.NewServer)
	r.Handle = func(w http.ResponseWriter, q *http.Request) bool {
		if q.URL.Path != api.V2+"/whoami" {
			return false
		}
		who(w, strings.TrimPrefix(q.Header.Get("Authorization"), "Bearer "))
		return true
	}
	return r
}

// What a registry answers decides whether a key is stored. No output has the key, even if the registry
// repeats it.
func TestLoginChecks(t *testing.T) {
	fail := func(code int) func(http.ResponseWriter, string) {
		return func(w http.ResponseWriter, key string) {
			registrytest.Fail(w, api.Error{Code: code, Message: http.StatusText(code), Reason: "because of " + key})
		}
	}
	for name, tt := range map[string]struct {
		who    func(http.ResponseWriter, string)
		code   int
		stored bool
		says   string
	}{
		"accepted": {func(w http.ResponseWriter, k string) {
			registrytest.Answer(w, api.Whoami{Organization: api.Organization{Name: "acme"}, Key: api.KeyInfo{ID: k, Scopes: []string{"publish"}}})
		}, 0, true, "as acme"},
		"hostile name": {func(w http.ResponseWriter, _ string) {
			registrytest.Answer(w, api.Whoami{Organization: api.Organization{Name: "a\x1b]0;x\x07cme\u202e"}})
		}, 0, true, "Logged in"},
		"refused":      {fail(http.StatusUnauthorized), host.ExitUsage, false, "not stored"},
		"forbidden":    {fail(http.StatusForbidden), host.ExitUsage, false, "not stored"},
		"other answer": {fail(http.StatusTeapot), host.ExitFailure, false, "because of"},
		"not JSON":     {func(w http.ResponseWriter, _ string) { _, _ = w.Write([]byte("<html>")) }, host.ExitFailure, false, "not application/json"},
		"broken":       {fail(http.StatusInternalServerError), 0, true, "not checked"},
	} {
		t.Run(name, func(t *testing.T) {
			r := answering(t, tt.who)
			for _, format := range []string{"text", "json"} {
				h, out, errs := user(t, key+"\n")
				args := []string{r.URL, "--stdin"}
				if format == "json" {
					args = append(args, "--json")
				}
				err := call(t, NewLogin(h, nil), args...)
				text := h.Secrets.Redact(out.String() + errs.String() + host.Describe(err))
				if host.ExitCode(err) != tt.code || !strings.Contains(text, tt.says) && format == "text" {
					t.Errorf("%s: exit code %d: %s", format, host.ExitCode(err), text)
				}
				if strings.Contains(text, key) || strings.ContainsAny(text, "\x1b\u202e\a") {
					t.Errorf("%s: printed %q", format, text)
				}
				logins, err := (credentials.File{Path: h.LoginPath()}).Load()
				if err != nil || (len(logins.Registries) == 1) != tt.stored {
					t.Errorf("%s: stored %v, %v", format, logins.Registries, err)
				}
			}
		})
	}
}

// A registry that has no version 2 cannot check a key.
func TestLoginOriginal(t *testing.T) {
	r := registrytest.New(t, httptest.NewServer)
	r.Original = true
	h, _, errs := user(t, key)
	if err := call(t, NewLogin(h, nil), r.URL, "--stdin"); err != nil || !strings.Contains(errs.String(), "cannot say whose key it is") {
		t.Errorf("%v: %s", err, errs)
	}
}

// The variable for the default registry is stronger than a login for it, and for no other registry.
func TestVariable(t *testing.T) {
	r := answering(t, func(w http.ResponseWriter, k string) {
		registrytest.Answer(w, api.Whoami{Organization: api.Organization{Name: "key-" + k}})
	})
	const variable = "another-key-of-mine-1234"
	h, out, errs := user(t, key, credentials.Variable+"="+variable)
	config := "[registries.default]\nurl = '" + r.URL + "'\n"
	if err := errors.Join(os.MkdirAll(filepath.Dir(h.UserConfigPath()), 0o700), os.WriteFile(h.UserConfigPath(), []byte(config), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := call(t, NewLogin(h, nil), "--stdin"); err != nil || !strings.Contains(errs.String(), "is set, and is used instead") {
		t.Errorf("%v: %s", err, errs)
	}
	out.Reset()
	if err := call(t, NewWhoami(h, nil)); err != nil || !strings.Contains(out.String(), "key-"+variable+" at") || !strings.Contains(out.String(), credentials.Variable) {
		t.Errorf("%v: %s", err, out)
	}
	if err := os.WriteFile(h.UserConfigPath(), []byte("[registries.acme]\nurl = '"+r.URL+"'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	if err := call(t, NewWhoami(h, nil), "acme"); err != nil || !strings.Contains(out.String(), "key-"+key+" at") {
		t.Errorf("%v: %s", err, out)
	}
}

// A helper keeps the key in a keychain; the file has its name only.
func TestHelper(t *testing.T) {
	r := answering(t, func(w http.ResponseWriter, _ string) {
		registrytest.Answer(w, api.Whoami{Organization: api.Organization{Name: "acme"}})
	})
	bin, kept := t.TempDir(), filepath.Join(t.TempDir(), "kept")
	script := "#!/bin/sh\ncase $1 in store) cat >" + kept + ";; get) cat " + kept + ";; erase) rm " + kept + ";; esac\n"
	if err := os.WriteFile(filepath.Join(bin, "docker-credential-test"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	h, out, _ := user(t, key)
	h.Environ = append([]string{"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH")}, h.Environ...)
	if err := call(t, NewLogin(h, nil), r.URL, "--stdin", "--helper", "test"); err != nil || !strings.Contains(out.String(), "keychain of docker-credential-test") {
		t.Fatalf("%v: %s", err, out)
	}
	if data, err := os.ReadFile(h.LoginPath()); err != nil || bytes.Contains(data, []byte(key)) {
		t.Errorf("the file has %s, %v", data, err)
	}
	out.Reset()
	if err := call(t, NewLogin(h, nil), "--list"); err != nil || !strings.Contains(out.String(), "in the keychain of test") || strings.Contains(out.String(), "...") {
		t.Errorf("%v: %s", err, out)
	}
	out.Reset()
	if err := call(t, NewWhoami(h, nil), r.URL); err != nil || !strings.Contains(out.String(), "keychain of a helper") {
		t.Errorf("%v: %s", err, out)
	}
	if err := call(t, NewLogout(h, nil), r.URL); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(kept); err == nil {
		t.Error("the keychain still has the key")
	}
	if err := call(t, NewLogin(h, nil), r.URL, "--stdin", "--helper", "../evil"); host.ExitCode(err) != host.ExitUsage {
		t.Error(err)
	}
}

// A job cannot log in or out.
func TestInJob(t *testing.T) {
	h, _, _ := user(t, key)
	h.Supervised = func() bool { return true }
	ran := func(context.Context) error { t.Error("it ran"); return nil }
	for _, cmd := range []*cobra.Command{
		NewLogin(h, func(ctx context.Context, _ *LoginOptions) error { return ran(ctx) }),
		NewLogout(h, func(ctx context.Context, _ *LogoutOptions) error { return ran(ctx) }),
	} {
		if err := call(t, cmd); host.ExitCode(err) != host.ExitUsage {
			t.Errorf("%s: %v", cmd.Name(), err)
		}
	}
}

func TestSuggestName(t *testing.T) {
	for address, want := range map[string]string{
		"https://registry.acme.example": "acme-example", "http://127.0.0.1:8080": "127-0-0-1", "https://[::1]:8080": "1", "https://---": "mine",
	} {
		if got := suggestName(address); got != want {
			t.Errorf("%s: %q", address, got)
		}
	}
}
