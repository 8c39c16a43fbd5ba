package manifest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/job"
)

func TestParseUser(t *testing.T) {
	got, problems := ParseUser("config.toml", []byte("\ufeff[[consent]]\nproject = '~/work'\nallow = ['variables', 'baseUrl']\n[[consent]]\nproject = '/srv'\nallow = []\n"))
	want := &UserConfig{Consent: []Consent{{"~/work", []RequestKind{RequestVariables, RequestBaseURL}}, {Project: "/srv"}}}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(UserConfig{})); diff != "" || len(problems) > 0 {
		t.Errorf("%v (-want +got)\n%s", problems, diff)
	}
	hosts := []string{"files.example.com", "10.0.0.1:8080", "[::1]:4873", "registry"}
	if got, problems := ParseUser("config.toml", []byte(`packageHosts = ["`+strings.Join(hosts, `", "`)+`"]`)); got == nil || !slices.Equal(got.PackageHosts, hosts) {
		t.Errorf("hosts: %v, %v", got, problems)
	}
	got, problems = ParseUser("config.toml", []byte("[sandbox]\nmode = 'full'\nreadable = ['~/data']\ncaches = []\nnetwork = 'none'\nmemory = '8GiB'"))
	if got == nil || !cmp.Equal(got.Sandbox, job.Isolation{Sandbox: expert.SandboxFull, Reach: job.Reach{Read: []string{"~/data"}, Caches: []string{}, Network: "none"}, SandboxLimits: job.SandboxLimits{Memory: 8 << 30}}) {
		t.Errorf("sandbox: %+v, %v", got, problems)
	} else if p := got.Problem("sandbox.readable.0", "m", "h"); p.String() != "config.toml:3:1: sandbox.readable.0: m; h" {
		t.Errorf("a problem of it: %s", p.String())
	}
	if got, problems := ParseUser("config.toml", nil); got == nil || len(problems) > 0 {
		t.Errorf("an empty file: %v, %v", got, problems)
	}
	for text, want := range map[string]string{
		"consents = 1":                               `config.toml:1:1: consents: unknown key; did you mean "consent"?`,
		"[consent]\nproject = '/'":                   "consent: must be an array, not a table",
		"[[consent]]\nallow = []":                    `consent.0.project: is required; name a directory, like consent.0.project = "~/work/site"`,
		"[[consent]]\nproject = '/'":                 "consent.0.allow: is required",
		"[[consent]]\nproject = 'a'\nallow = []":     "is not a whole path; begin it with / or ~/",
		"[[consent]]\nproject = '~b'\nallow = []":    "is not a whole path",
		"[[consent]]\nproject = ' '\nallow = []":     "is empty",
		"[[consent]]\nproject = '/'\nallow = ['x']":  `unknown value "x"`,
		"[[consent]]\nproject = '/'\nallows = ['x']": `did you mean "allow"?`,
		"[[consent]":                                     "config.toml:1:",
		"[sandbox]\nreadable = ['data']":                 "is not a whole path; begin it with / or ~/",
		"[sandbox]\nmode = 'on'":                         `unknown value "on"; use auto, full, landlock or off`,
		"[sandbox]\nhide = ['a']":                        "config.toml:2:1: sandbox.hide: unknown key",
		"sandbox = 'full'":                               "sandbox: must be a table",
		"packageHosts = ['https://files.example.com/x']": "is not a host; write files.example.com or files.example.com:8443",
		"packageHosts = ['files.example.com:0']":         "is not a host",
		"packageHosts = ['a:b@files.example.com']":       "is not a host",
		"packageHosts = ['files.example.com:']":          "is not a host",
	} {
		if got, problems := ParseUser("config.toml", []byte(text)); got != nil || !strings.Contains(problems.Error(), want) {
			t.Errorf("%q\ngot  %v\nwant %s", text, problems.Error(), want)
		}
	}
}

// docs/config.schema.json is what the program prints. go test -update writes it.
func TestUserSchema(t *testing.T) {
	testkit.Golden(t, filepath.Join("..", "..", "..", "docs", "config.schema.json"), string(UserSchema()))
}

// The tables of keys in docs/config.md are made from the rows, and its example is a file that
// can be used. go test -update writes the tables.
func TestUserConfigPage(t *testing.T) {
	const path, header = "../../docs/config.md", "| key | value | meaning | when absent |\n|---|---|---|---|\n"
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before := strings.ReplaceAll(string(data), "\r\n", "\n")
	parts := strings.Split(before, header)
	if len(parts) != 7 {
		t.Fatalf("%s has %d tables of keys", path, len(parts)-1)
	}
	page := parts[0]
	for i, rows := range []string{pageRows(userKeys(), nil), pageRows(snapshotKeys(), nil), pageRows(userSandboxKeys(), nil), pageRows(registryKeys(true), nil), pageRows(scopeKeys(), nil), pageRows(consentKeys(), nil)} {
		_, after, _ := strings.Cut("\n"+parts[i+1], "\n\n")
		page += header + rows + "\n" + after
	}
	if page != before && *testkit.Update {
		err = os.WriteFile(path, []byte(page), 0o644)
	} else if page != before {
		t.Errorf("the tables of %s are not those of the code; go test ./internal/manifest -update writes them", path)
	}
	if err != nil {
		t.Fatal(err)
	}
	example := ""
	for _, block := range strings.Split(page, "```toml\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		example += block
	}
	if config, problems := ParseUser("config.toml", []byte(example)); config == nil || len(config.Consent) != 1 || len(config.PackageHosts) != 2 || config.Sandbox.Sandbox == "" || len(config.Approvals.Sources[0].Rules) != 1 || config.Snapshots.MaxStoreBytes == 0 {
		t.Errorf("the example: %v", problems)
	}
	for _, kind := range RequestKinds() {
		if !strings.Contains(page, "\n| `"+kind+"` |") {
			t.Errorf("the page does not explain %s", kind)
		}
	}
}

// FuzzParseUser checks that no file makes the parser panic, and that what it accepts names whole
// paths and known kinds.
func FuzzParseUser(f *testing.F) {
	for _, s := range []string{"", "[[consent]]\nproject='/'\nallow=['limits']", "consent=[{project='~',allow=[]}]", "consent=1", "[[consent]]\n[consent.project]", "\xff", "[[consent]]\nproject='~/a\\u0000'"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, problems := ParseUser("c.toml", data)
		if (c == nil) != (problems.Err() != nil) {
			t.Fatalf("%v, %v", c, problems)
		}
		for _, p := range problems {
			if p.Line < 1 || strings.ContainsAny(p.String(), "\n\r\x1b\u202e") {
				t.Errorf("bad problem %q", p.String())
			}
		}
		if c == nil {
			return
		}
		for _, one := range c.Consent {
			if message, _ := wholePath(one.Project); message != "" || strings.ContainsRune(one.Project, 0) {
				t.Errorf("accepted the path %q", one.Project)
			}
			for _, kind := range one.Allow {
				if !strings.Contains(" "+strings.Join(RequestKinds(), " ")+" ", " "+string(kind)+" ") {
					t.Errorf("accepted the kind %q", kind)
				}
			}
		}
	})
}
