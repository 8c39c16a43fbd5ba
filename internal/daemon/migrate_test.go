package daemon

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/cli/host"
)

// A registry does not start on tables of another version, and says what to do. Those of an older one are changed only
// if the operator says so.
func TestMigrate(t *testing.T) {
	dir := t.TempDir()
	change := func(data string, statements ...string) {
		t.Helper()
		db, err := sql.Open("sqlite", filepath.Join(data, "registry.db"))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		for _, statement := range statements {
			if _, err := db.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
	}
	older := []string{"DROP TABLE log_keys", "DROP TABLE cosignatures", "DELETE FROM migrations WHERE number >= 6"}
	refused := func(data, want string) {
		t.Helper()
		for _, args := range []string{"registry --listen 127.0.0.1:0", "registry admin org list", "registry verify"} {
			if _, errs, code := call(t, append(strings.Fields(args), "--data", data)...); code != host.ExitUsage || !strings.Contains(errs, want) {
				t.Errorf("%s: %d %s", args, code, errs)
			}
		}
	}
	data := filepath.Join(dir, "older")
	serve(t, data).stop()
	change(data, older...)
	refused(data, "make a backup with the version that you had, then run perstackd registry migrate")
	if out, errs, code := call(t, "registry", "migrate", "--data", data); code != 0 || !strings.Contains(out, "up to date") {
		t.Error(code, out, errs)
	}
	serve(t, data).stop()
	change(data, older...)
	serve(t, data, "--auto-migrate").stop()
	serve(t, data).stop()
	change(data, "INSERT INTO migrations (number) VALUES (99)")
	refused(data, "use the newer version of perstackd")
	if _, errs, code := call(t, "registry", "migrate", "--data", data); code != host.ExitUsage || !strings.Contains(errs, "version 99") {
		t.Error(code, errs)
	}
}
