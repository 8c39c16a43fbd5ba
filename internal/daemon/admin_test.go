package daemon

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/registry/api"
)

// The operator adds an organization and a key beside a server that runs, and revokes it.
func TestAdmin(t *testing.T) {
	data := filepath.Join(t.TempDir(), "registry")
	running := serve(t, data)
	defer running.stop()
	admin := func(args ...string) (string, string) {
		t.Helper()
		out, errs, code := call(t, append(append([]string{"registry", "admin"}, args...), "--data", data)...)
		if code != host.ExitOK {
			t.Fatalf("%v: exit code %d: %s", args, code, errs)
		}
		return out, errs
	}
	admin("org", "create", "acme")
	if out, _ := admin("org", "list"); !strings.Contains(out, "acme") || !strings.Contains(out, "team") {
		t.Error(out)
	}
	token, told := admin("key", "create", "acme", "--names", "@acme/web*", "--name", "CI")
	if token = strings.TrimSpace(token); !strings.HasPrefix(token, "psk_") || strings.Contains(told, token) {
		t.Errorf("%q %q", token, told)
	}
	if code, body := get(t, running.url+api.V2+"/whoami", token); code != http.StatusOK || !strings.Contains(body, `"@acme/web*"`) {
		t.Error(code, body)
	}
	out, _ := admin("key", "list", "acme", "--json")
	var keys []api.KeyInfo
	if err := json.Unmarshal([]byte(out), &keys); err != nil || len(keys) != 1 || keys[0].Name != "CI" {
		t.Fatal(err, out)
	}
	if out, _ := admin("key", "list", "acme"); !strings.Contains(out, "read,publish,tag,status") || strings.Contains(out, token) {
		t.Error(out)
	}
	admin("key", "revoke", keys[0].ID)
	if code, body := get(t, running.url+api.V2+"/whoami", token); code != http.StatusUnauthorized {
		t.Error(code, body)
	}
	out, _ = admin("binding", "create", "acme", "--issuer", "https://ci.example", "--repository", "9", "--names", "@acme/*", "--json")
	var binding api.Binding
	if err := json.Unmarshal([]byte(out), &binding); err != nil {
		t.Fatal(err, out)
	}
	if out, _ := admin("binding", "list", "acme"); !strings.Contains(out, "https://ci.example") {
		t.Error(out)
	}
	admin("binding", "remove", binding.ID)
	if out, _ := admin("report", "list"); out != "ID  KEY  DAY  CONTACT  REASON\n" {
		t.Errorf("%q", out)
	}
	out, _ = admin("audit", "--since", "2020-01-01")
	if lines := strings.Split(strings.TrimSpace(out), "\n"); len(lines) != 8 || !strings.Contains(lines[5], `"refused 401"`) || !strings.Contains(lines[7], `"remove binding"`) {
		t.Error(out)
	}
	for args, want := range map[string]string{
		"quarantine @acme/a":                          "version required",
		"quarantine @acme/a@1.0.0":                    "Expert not found",
		"release @acme/a@1.0.0":                       "Expert not found",
		"unpublish @acme/a@1.0.0":                     "add --force",
		"unpublish @acme/a@1.0.0 --force":             "Expert not found",
		"transfer @acme/a":                            "with --to",
		"transfer @acme/a --to acme":                  "Expert not found",
		"report close missing":                        "Report not found",
		"binding remove missing":                      "Binding not found",
		"binding create acme":                         "is not an issuer",
		"audit --since yesterday":                     "must be a day",
		"org create acme":                             "Organization acme already exists",
		"org create Acme":                             "cannot name an organization",
		"org create x --type club":                    "is not a type of organizations",
		"org create":                                  "needs the name of the organization",
		"org make x":                                  `unknown command "make"`,
		"key create someone":                          "Organization not found",
		"key create acme --role king":                 "--role must be",
		"key create acme --role owner --scopes read":  "exclude each other",
		"key create acme --scopes fly":                "is not a scope",
		"key create acme --days 91":                   "1 to 90 days",
		"key revoke missing":                          "Key not found",
		"key list acme --data " + t.TempDir() + "/no": "there is no registry in",
	} {
		all := append([]string{"registry", "admin", "--data", data}, strings.Fields(args)...)
		if out, errs, code := call(t, all...); code != host.ExitUsage || out != "" || !strings.Contains(errs, want) {
			t.Errorf("%s: exit code %d, %q, %q", args, code, out, errs)
		}
	}
}
