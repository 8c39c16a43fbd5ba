package daemon

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/testkit/postgres"
)

// mustCall runs a command that succeeds.
func mustCall(t *testing.T, args ...string) string {
	t.Helper()
	out, errs, code := call(t, args...)
	if code != host.ExitOK {
		t.Fatalf("%v: exit code %d: %s", args, code, errs)
	}
	return out
}

// A registry is copied while it is served, restored elsewhere, in another kind of database too, and is the same
// one for its clients: the log, the keys and the organizations.
func TestBackupAndRestore(t *testing.T) {
	dir := t.TempDir()
	data, copied := filepath.Join(dir, "data"), filepath.Join(dir, "copy")
	running := serve(t, data)
	mustCall(t, "registry", "admin", "org", "create", "acme", "--data", data)
	token := strings.TrimSpace(mustCall(t, "registry", "admin", "key", "create", "acme", "--data", data))
	mustCall(t, "registry", "backup", copied, "--data", data)
	running.stop()
	if info, err := os.Stat(filepath.Join(copied, "registry.db")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	places := map[string][]string{"SQLite": {"--data", filepath.Join(dir, "new")}}
	t.Run("PostgreSQL", func(t *testing.T) {
		places["PostgreSQL"] = []string{"--data", filepath.Join(dir, "other"), "--database", postgres.Start(t).Database(t)}
		restored(t, running, copied, token, places["PostgreSQL"])
	})
	restored(t, running, copied, token, places["SQLite"])
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"taken":          {[]string{"restore", copied, "--data", data}, "has a registry already"},
		"no backup":      {[]string{"restore", dir, "--data", filepath.Join(dir, "x")}, "is not a backup of a registry"},
		"exists":         {[]string{"backup", dir, "--data", data}, "a directory that does not exist yet"},
		"nothing":        {[]string{"backup"}, "needs a directory"},
		"no registry":    {[]string{"verify", "--data", filepath.Join(dir, "none")}, "there is no registry in"},
		"with arguments": {[]string{"verify", "x", "--data", data}, "takes no arguments"},
	} {
		if out, errs, code := call(t, append([]string{"registry"}, c.args...)...); code != host.ExitUsage || out != "" || !strings.Contains(errs, c.want) {
			t.Errorf("%s: exit code %d, %q, %q", name, code, out, errs)
		}
	}
}

// restored restores a backup, and checks that it is the registry that it was.
func restored(t *testing.T, was *running, copied, token string, place []string) {
	t.Helper()
	mustCall(t, append([]string{"registry", "restore", copied}, place...)...)
	if out := mustCall(t, append([]string{"registry", "migrate"}, place...)...); !strings.Contains(out, "up to date") {
		t.Error(out)
	}
	var verdict struct {
		OK     bool  `json:"ok"`
		Leaves int64 `json:"leaves"`
	}
	if err := json.Unmarshal([]byte(mustCall(t, append([]string{"registry", "verify", "--json"}, place...)...)), &verdict); err != nil || !verdict.OK || verdict.Leaves != 2 {
		t.Error(verdict, err)
	}
	again := serve(t, place[1], place[2:]...)
	defer again.stop()
	if again.logKey != was.logKey {
		t.Errorf("the log key is %s", again.logKey)
	}
	if code, body := get(t, again.url+api.V2+"/whoami", token); code != http.StatusOK || !strings.Contains(body, "acme") {
		t.Error(code, body)
	}
}

// A registry whose log key is lost does not begin a second log, and one whose file was changed is found out.
func TestDamage(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	serve(t, data).stop()
	mustCall(t, "registry", "verify", "--data", data)
	key := filepath.Join(data, "log.key")
	text, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	out, errs, code := call(t, "registry", "--listen", "127.0.0.1:0", "--data", data)
	if code != host.ExitFailure || out != "" || !strings.Contains(errs, "was signed with another key") {
		t.Errorf("exit code %d, %q, %q", code, out, errs)
	}
	if _, err := os.Lstat(key); err == nil {
		t.Error("another key took its place")
	}
	if err := os.WriteFile(key, text, 0o600); err != nil {
		t.Fatal(err)
	}
	mustCall(t, "registry", "verify", "--data", data)
	if err := os.WriteFile(key, []byte("nonsense\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, errs, code := call(t, "registry", "verify", "--data", data); code != host.ExitFailure || !strings.Contains(errs, "is not the key of a log") {
		t.Errorf("exit code %d, %q", code, errs)
	}
}
