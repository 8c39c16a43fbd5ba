package daemon

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perstack-go/perstack/internal/registry/client"
	"github.com/perstack-go/perstack/internal/registry/trust"
)

// The operator replaces the key of the log. Clients that know the old one follow, whether a run, a project or nothing
// has named it; those whose user has named it refuse, and say which one is new.
func TestRotateLogKey(t *testing.T) {
	data, known := filepath.Join(t.TempDir(), "data"), trust.Open(filepath.Join(t.TempDir(), "trust"))
	r := serve(t, data)
	audit := func(store *trust.Store, o client.Options) error {
		o.BaseURL, o.Insecure, o.HTTP, o.Trust, o.Clock = r.url, true, http.DefaultClient, store, time.Now
		c, err := client.New(o)
		if err == nil {
			_, err = c.Audit(t.Context(), "", nil)
		}
		return err
	}
	if err := audit(known, client.Options{}); err != nil {
		t.Fatal(err)
	}
	r.stop()
	old := r.logKey
	path := filepath.Join(data, "log.key")
	secret, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out, errs, code := call(t, "registry", "admin", "rotate-log-key", "--data", data)
	if code != 0 || !strings.Contains(out, "Old log key: "+old) {
		t.Fatal(code, out, errs)
	}
	// as if it had ended before it moved the key
	if err := errors.Join(os.Rename(path, path+".next"), os.WriteFile(path, secret, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, errs, code := call(t, "registry", "admin", "org", "create", "acme", "--type", "team", "--data", data); code != 0 { // signed with the new one only
		t.Fatal(errs)
	}
	r = serve(t, data, "--listen", strings.TrimPrefix(r.url, "http://"))
	defer func() { r.stop() }()
	if r.logKey == old || !strings.Contains(out, "New log key: "+r.logKey) {
		t.Error(r.logKey, out)
	}
	if _, err := os.Stat(path + ".next"); !os.IsNotExist(err) {
		t.Error(err)
	}
	for name, o := range map[string]client.Options{"known": {}, "bound": {LogKey: old}, "again": {}} {
		if err := audit(known, o); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if head, err := known.Log(r.url).Head(); err != nil || head.Key != r.logKey || !head.HadKey(old) {
		t.Error(head, err)
	}
	elsewhere := func() *trust.Store { return trust.Open(t.TempDir()) }
	if err := audit(elsewhere(), client.Options{LogKey: old}); err != nil {
		t.Error(err)
	}
	err = audit(elsewhere(), client.Options{LogKey: old, NewLogKey: true})
	if client.KindOf(err) != client.Configuration || !strings.Contains(err.Error(), r.logKey) || !strings.Contains(err.Error(), "name it in your configuration") {
		t.Error(err)
	}
	if err := audit(elsewhere(), client.Options{LogKey: r.logKey, NewLogKey: true}); err != nil {
		t.Error(err)
	}
	if out, errs, code := call(t, "registry", "verify", "--data", data); code != 0 {
		t.Error(out, errs)
	}
}
