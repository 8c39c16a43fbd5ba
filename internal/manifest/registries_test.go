package manifest

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	testLogKey = "registry.acme.example/log+1a2b3c4d+AZWNk1ufn/QYBCJNaLrDZBYcG3PdMCJcYJ1bLhQs5e0K"
	testSigner = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ6Xpd9k8Gm0pYwTq6LxPqJ0n3vH2yQyY8tK8m3b5w0F"
)

func TestRegistries(t *testing.T) {
	text := "[registries.acme]\nurl = 'HTTPS://Registry.Acme.example:443/'\nlogKey = '" + testLogKey + "'\nscopes = ['@acme', '@acme-labs']\n"
	want := []Registry{{Name: "acme", URL: "https://registry.acme.example", LogKey: testLogKey, Scopes: []string{"@acme", "@acme-labs"}}}
	c, problems := Parse("perstack.toml", []byte(text))
	if c == nil || !cmp.Equal(c.Registries, want) {
		t.Errorf("project: %v, %v", c, problems)
	}
	u, problems := ParseUser("config.toml", []byte("minReleaseAge = '7d'\n"+text+"[registries.default]\nurl = 'http://127.0.0.1:8080/base/'\n[registries.company]\nurl = 'https://10.1.2.3'\n[scopes.'@x']\nregistry = 'acme'\nrequire = ['"+testSigner+"']\nminReleaseAge = '90m'\n[scopes.'@y']\nregistry = 'default'\n[scopes.'oci://127.0.0.1:5000']\n[scopes.'oci://r.example/a/b']\nrequire = 'signed'"))
	if u == nil {
		t.Fatal(problems)
	}
	if diff := cmp.Diff(append(want, Registry{Name: "default", URL: "http://127.0.0.1:8080/base"}, Registry{Name: "company", URL: "https://10.1.2.3"}), u.Registries); diff != "" {
		t.Error(diff)
	}
	scopes := []Scope{{Name: "@x", Registry: "acme", Require: RequireSigned, Keys: []string{testSigner}, MinReleaseAge: 90 * time.Minute}, {Name: "@y", Registry: "default"}, {Name: "oci://127.0.0.1:5000"}, {Name: "oci://r.example/a/b", Require: RequireSigned}}
	if diff := cmp.Diff(scopes, u.Scopes); diff != "" || u.MinReleaseAge != 7*24*time.Hour {
		t.Errorf("%s, %s", diff, u.MinReleaseAge)
	}
}

func TestRegistriesRefused(t *testing.T) {
	const a = "[registries.a]\nurl = 'https://a.example'\n"
	for text, want := range map[string]string{
		"[registries.a]\nscopes = []":                                                 "registries.a.url: is required",
		"[registries.A]\nurl = 'https://a.example'":                                   "is not the name of a registry",
		"[registries.a]\nurl = 'http://a.example'":                                    "must use https",
		"[registries.a]\nurl = 'https://u:p@a.example'":                               "user name or password",
		"[registries.a]\nurl = 'https://a.example/?x'":                                "more than a host and a path",
		"[registries.a]\nurl = 'https://a.example/#x'":                                "more than a host and a path",
		"[registries.a]\nurl = 'https://a.example/../x'":                              "more than a host and a path",
		"[registries.a]\nurl = 'https://a.example/%2e%2e'":                            "more than a host and a path",
		a + "logKey = 'x'":                                                            "is not the key of a log",
		a + "scopes = ['acme']":                                                       "is not a scope",
		a + "scopes = ['@Acme']":                                                      "is not a scope",
		a + "scopes = ['@acme.x']":                                                    "is not a scope",
		a + "scopes = ['@acme/x']":                                                    "is not a scope",
		a + "scopes = ['@аcme']":                                                      "is not a scope",
		a + "scopes = ['@x', '@x']":                                                   "has @x, which registry",
		a + "scopes = ['@x']\n[registries.b]\nurl='https://b.example'\nscopes=['@x']": `has @x, which registry "a" has, too; a scope is in one registry`,
		a + "[registries.b]\nurl='https://A.example:443/'":                            `is the address of registry "a", too`,
		a + "registry = 'x'":                                                          "unknown key",
		"registries = 1":                                                              "must be a table",
	} {
		for name, parse := range map[string]func() string{
			"project": func() string { _, p := Parse("p.toml", []byte(text)); return p.Error() },
			"user":    func() string { _, p := ParseUser("c.toml", []byte(text)); return p.Error() },
		} {
			if got := parse(); !strings.Contains(got, want) {
				t.Errorf("%s: %q\ngot  %s\nwant %s", name, text, got, want)
			}
		}
	}
	for text, want := range map[string]string{
		"[scopes.acme]":                                                                  "is not a scope",
		"[scopes.'oci://']":                                                              "is not a container registry",
		"[scopes.'oci://r.example/']":                                                    "is not a container registry",
		"[scopes.'oci://r.example/a:1']":                                                 "is not a container registry",
		"[scopes.'oci://R.example/a']":                                                   "is not a container registry",
		"[scopes.'oci://r.example']\nrequire = 'logged'":                                 "container registries have no log",
		"[scopes.'oci://r.example']\nregistry = 'default'":                               "has no effect: the name of the table says where",
		"[scopes.'@x']\nregistry = 'b'":                                                  `there is no registry "b" in this file`,
		a + "scopes = ['@x']\n[scopes.'@x']\nregistry = 'default'":                       `is "default", but registry "a" has @x`,
		"[scopes.'@x']\nrequire = 'none'":                                                `unknown value "none"`,
		"[scopes.'@x']\nrequire = []":                                                    "has no key",
		"[scopes.'@x']\nrequire = ['k']":                                                 "is not a public key of SSH",
		"[scopes.'@x']\nrequire = 1":                                                     "must be",
		"[scopes.'@x']\nkeys = ['" + testSigner + "']":                                   "has no effect without signatures",
		"[scopes.'@x']\nrequire = ['" + testSigner + "']\nkeys = ['" + testSigner + "']": "beside keys in require",
		"minReleaseAge = '7 days'":                                                       "is not an age",
		"minReleaseAge = '366d'":                                                         "is not an age",
		"minReleaseAge = 7":                                                              "must be a string",
	} {
		if _, p := ParseUser("c.toml", []byte(text)); !strings.Contains(p.Error(), want) {
			t.Errorf("%q\ngot  %s\nwant %s", text, p.Error(), want)
		}
	}
	for text, want := range map[string]string{
		"[registries.default]\nurl = 'https://a.example'": "write perstackApiBaseUrl instead",
		"[registries.a]\nurl = 'http://127.0.0.1:1'":      "must use https",
		"[scopes.'@x']\nrequire = 'logged'":               "scopes: unknown key",
		"minReleaseAge = '1d'":                            "minReleaseAge: unknown key",
	} {
		if _, p := Parse("p.toml", []byte(text)); !strings.Contains(p.Error(), want) {
			t.Errorf("%q\ngot  %s\nwant %s", text, p.Error(), want)
		}
	}
}

// Only the user names witnesses. All that are listed must cosign, unless the file says how many.
func TestRegistryWitnesses(t *testing.T) {
	const a = "[registries.a]\nurl = 'https://a.example'\n"
	for text, want := range map[string]int{
		"witnesses = ['" + testLogKey + "']\n":                        1,
		"witnesses = ['" + testLogKey + "']\nrequireWitnesses = 0\n":  0,
		"requireWitnesses = 1\nwitnesses = ['" + testLogKey + "']\n":  1,
		"witnesses = ['" + testLogKey + "', '" + testLogKey + "0']\n": 2,
	} {
		u, problems := ParseUser("config.toml", []byte(a+text))
		if u == nil || u.Registries[0].RequireWitnesses != want {
			t.Errorf("%s: %v, %v", text, u, problems)
		}
		if c, problems := Parse("perstack.toml", []byte(a+text)); c != nil || !strings.Contains(problems.Error(), "unknown key") {
			t.Errorf("%s: a project names witnesses: %v", text, problems)
		}
	}
	for text, want := range map[string]string{
		"witnesses = ['x']": "is not the key of a witness", "requireWitnesses = 1": "is more than there are witnesses", "requireWitnesses = -1": "must be",
		"witnesses = 1": "must be",
	} {
		if _, problems := ParseUser("config.toml", []byte(a+text)); !strings.Contains(problems.Error(), want) {
			t.Errorf("%s: %v", text, problems)
		}
	}
}
