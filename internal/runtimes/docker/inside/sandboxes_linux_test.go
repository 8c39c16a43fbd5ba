package inside

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/sandbox/landlock"
	"github.com/perstack-go/perstack/internal/sandbox/selftest"
	"github.com/perstack-go/perstack/internal/testkit"
)

// looks is a cassette whose command prints its home directory, and looks beside the
// workspace.
const looks = `
[[turn]]
[[turn.call]]
tool = "exec"
args = { command = "sh", args = ["-c", "echo at home in $HOME, trusts $SSL_CERT_FILE; echo x >$TMPDIR/x && echo tmp works; cat ../beside/secret"] }
[[turn]]
text = "done"
`

// In a container each skill has a sandbox, unless the document says that they share one.
func TestSandboxes(t *testing.T) {
	if err := landlock.Available(); err != nil {
		testkit.Missing(t, err.Error())
	}
	for name, shared := range map[string]bool{"own": false, "shared": true} {
		t.Run(name, func(t *testing.T) {
			top := t.TempDir()
			for _, dir := range []string{"work", "beside"} {
				if err := os.Mkdir(filepath.Join(top, dir), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(filepath.Join(top, "beside", "secret"), []byte("SECRET-"+"beside"), 0o600); err != nil {
				t.Fatal(err)
			}
			d, doc := newFakeHost(t), document(t, alone, looks)
			doc.Addresses.Workspace, doc.Spec.Isolation.SharedSandbox, doc.Addresses.Roots = filepath.Join(top, "work"), shared, "/etc/ssl/bundle"
			d.succeed(doc)
			said := d.text()
			if got := strings.Contains(said, "/sandbox-"); got == shared {
				t.Errorf("a sandbox: %t", got)
			}
			if got := strings.Contains(said, "SECRET-beside"); got != shared {
				t.Errorf("the secret beside the workspace is seen: %t", got)
			}
			if !strings.Contains(said, "tmp works") || !strings.Contains(said, "trusts /etc/ssl/bundle") {
				t.Errorf("it said %s", said)
			}
		})
	}
}

// Listeners without tokens are kept apart by sandboxes alone, so these must be there.
func TestTokenless(t *testing.T) {
	d, doc := newFakeHost(t), document(t, alone, says)
	doc.Addresses.Tokenless, doc.Spec.Isolation.SharedSandbox, doc.Secrets.Proxy = true, true, "http://192.0.2.2:4000"
	if end := d.fails(doc, stands); !strings.Contains(end.Error, "use separate sandboxes") {
		t.Errorf("end %+v", end)
	}
	for address, tokenless := range map[string]bool{"http://192.0.2.2:4000": true, "http://perstack:token@192.0.2.2:4000": false} {
		if _, err := proxyURL(address, tokenless); err != nil {
			t.Errorf("%s: %v", address, err)
		}
		if _, err := proxyURL(address, !tokenless); err == nil || strings.Contains(err.Error(), "token") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// Of an image, what is not kept apart may be read, at the highest place that holds nothing
// else.
func TestAllBut(t *testing.T) {
	top := t.TempDir()
	for _, dir := range []string{"usr/lib", "app/bin", "var/lib/x", "var/run/lock", "home/perstack", "skills/npm", "work", "data"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(top, "perstack"), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("skills", filepath.Join(top, "link")); err != nil {
		t.Fatal(err)
	}
	var apart, want []string
	for _, dir := range []string{"var/run", "home", "skills", "work", "perstack"} {
		apart = append(apart, filepath.Join(top, dir))
	}
	for _, dir := range []string{"app", "data", "usr", "var/lib"} {
		want = append(want, filepath.Join(top, dir))
	}
	if got := allBut(top, apart); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := allBut(filepath.Join(top, "absent"), nil); got != nil {
		t.Errorf("%q", got)
	}
}

// One sandbox may have three quarters of what the container may have, as either kind of cgroup says it.
func TestMaxTasks(t *testing.T) {
	for name, c := range map[string]struct {
		file, text string
		want       int
	}{
		"second version": {"pids.max", "512\n", 384},
		"first version":  {"pids/pids.max", "100\n", 75},
		"no limit":       {"pids.max", "max\n", 192},
		"nothing":        {"other", "7", 192},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, c.file)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := maxTasks(dir); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// A kernel that cannot isolate skills from each other is an error that says what to do.
func TestSandboxesUnavailable(t *testing.T) {
	end := newFakeHost(t).fails(document(t, alone, says), func(context.Context, selftest.Spec) []selftest.Result {
		return []selftest.Result{{Name: selftest.Sandboxes, Detail: "the kernel has no Landlock"}}
	})
	if !strings.HasSuffix(end.Error, "sandboxes (the kernel has no Landlock; use a newer kernel, or let all skills share one sandbox)") {
		t.Errorf("end %+v", end)
	}
}
