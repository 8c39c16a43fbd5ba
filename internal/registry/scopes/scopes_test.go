package scopes

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/registry/tlog"
)

const (
	public = "https://api.perstack.ai" // built in
	acme   = "https://registry.acme.example"
	evil   = "https://registry.evil.example"
	signer = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ6Xpd9k8Gm0pYwTq6LxPqJ0n3vH2yQyY8tK8m3b5w0F me@example.com"
)

func newLogKey(t *testing.T, name string) string {
	t.Helper()
	_, key, err := note.GenerateKey(rand.Reader, name)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func rules(t *testing.T, user, project string, bound Bindings) *Rules {
	t.Helper()
	u, problems := manifest.ParseUser("config.toml", []byte(user))
	if u == nil {
		t.Fatal(problems)
	}
	c, problems := manifest.Parse("perstack.toml", []byte(project))
	if c == nil {
		t.Fatal(problems)
	}
	r, err := New(u, c, bound)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func registry(name, url string, more ...string) string {
	return fmt.Sprintf("[registries.%s]\nurl = %q\n%s\n", name, url, strings.Join(more, "\n"))
}

func base(url string) string { return fmt.Sprintf("perstackApiBaseUrl = %q\n", url) }

// Which registry an Expert comes from, for every way in which two sources can disagree. The result is
// the address with who decided, and a ? if the user has to allow it; ! is a conflict.
func TestFor(t *testing.T) {
	acmeScope := `scopes = ["@acme"]`
	bound := func(subject, url string) Bindings { return Bindings{Subjects: map[string]string{subject: url}} }
	for name, c := range map[string]struct {
		user, project string
		bound         Bindings
		key, want     string
	}{
		"nothing is said":                {key: "writer", want: public + " built-in default"},
		"nothing is said of a scope":     {key: "@acme/writer@1.0.0", want: public + " built-in default"},
		"the user lists it":              {user: registry("a", acme, acmeScope), key: "@acme/writer@beta", want: acme + " user"},
		"the user maps it":               {user: registry("a", acme) + "[scopes.'@acme']\nregistry = 'a'", key: "@acme/writer", want: acme + " user"},
		"other scopes stay":              {user: registry("a", acme, acmeScope), key: "@acmes/writer", want: public + " built-in default"},
		"names without a scope stay":     {user: registry("a", acme, acmeScope), key: "acme", want: public + " built-in default"},
		"a name is not a scope":          {user: registry("a", acme, acmeScope), key: "writer@acme", want: public + " built-in default"},
		"the user has another default":   {user: registry("default", acme), key: "writer", want: acme + " user default"},
		"and scopes follow it":           {user: registry("default", acme), key: "@x/writer", want: acme + " user default"},
		"the user maps to the built-in":  {user: "[scopes.'@acme']\nregistry = 'default'", project: registry("p", evil, acmeScope), key: "@acme/x", want: "! @acme is " + public + " by your configuration"},
		"the project lists it":           {project: registry("p", acme, acmeScope), key: "@acme/writer", want: acme + " project ?"},
		"the project names the default":  {project: base(acme), key: "writer", want: acme + " project ?"},
		"and scopes follow the project":  {project: base(acme), key: "@x/writer", want: acme + " project ?"},
		"the project repeats the usual":  {project: base(public + "/"), key: "writer", want: public + " built-in default"},
		"it names it twice":              {project: base(acme) + registry("p", acme, acmeScope), key: "@acme/x", want: acme + " project ?"},
		"it lists what is usual":         {project: registry("p", public, acmeScope), key: "@acme/x", want: public + " project default"},
		"both agree":                     {user: registry("a", acme, acmeScope), project: registry("p", acme+":443/", acmeScope), key: "@acme/x", want: acme + " user"},
		"both agree, in other letters":   {user: registry("a", "HTTPS://Registry.ACME.example/", acmeScope), project: registry("p", acme, acmeScope), key: "@acme/x", want: acme + " user"},
		"the project takes a scope":      {user: registry("a", acme, acmeScope), project: registry("p", evil, acmeScope), key: "@acme/x", want: "! @acme is " + acme + " by your configuration"},
		"it takes a mapped scope":        {user: registry("a", acme) + "[scopes.'@acme']\nregistry = 'a'", project: registry("p", evil, acmeScope), key: "@acme/x", want: "! @acme is " + acme},
		"a path is another registry":     {user: registry("a", acme, acmeScope), project: registry("p", acme+"/evil", acmeScope), key: "@acme/x", want: "! @acme is " + acme},
		"a port is another registry":     {user: registry("a", acme, acmeScope), project: registry("p", acme+":8443", acmeScope), key: "@acme/x", want: "! @acme is " + acme},
		"it takes the default":           {user: registry("default", acme), project: base(evil), key: "writer", want: "! the default registry is " + acme},
		"it takes the default of scopes": {user: registry("default", acme), project: base(evil), key: "@x/writer", want: "! the default registry is " + acme},
		"but a scope of the user holds":  {user: registry("default", acme, acmeScope), project: base(evil), key: "@acme/writer", want: acme + " user default"},
		"the default is no claim":        {user: registry("a", acme, acmeScope), project: base(evil), key: "@acme/x", want: acme + " user"},
		"it takes a name of a registry":  {user: registry("a", acme), project: registry("a", evil, acmeScope), key: "@acme/x", want: `! registry "a" is ` + acme},
		"a registry of the user, asked":  {user: registry("a", acme), project: registry("a", acme, acmeScope), key: "@acme/x", want: acme + " project ?"},

		"an earlier run, the same":           {bound: bound("@acme", public), key: "@acme/x", want: public + " built-in default"},
		"an earlier run, taken":              {project: registry("p", evil, acmeScope), bound: bound("@acme", public), key: "@acme/x", want: "! @acme is " + public + " by an earlier run"},
		"an earlier run took it":             {bound: bound("@acme", evil), key: "@acme/x", want: "! @acme is " + evil + " by an earlier run"},
		"an earlier run, by the new default": {user: registry("default", acme), bound: bound("@acme", public), key: "@acme/x", want: "! @acme is " + public},
		"the user is stronger":               {user: registry("a", acme, acmeScope), bound: bound("@acme", evil), key: "@acme/x", want: acme + " user"},
		"a name was bound":                   {project: base(evil), bound: bound("writer", public), key: "writer@1.0.0", want: "! writer is " + public},
		"another name was bound":             {project: base(acme), bound: bound("reader", public), key: "writer", want: acme + " project ?"},
		"a name is no scope of a binding":    {bound: bound("acme", evil), key: "@acme/x", want: public + " built-in default"},
		"the default of the user is said":    {user: registry("default", acme), bound: bound("writer", public), key: "writer", want: acme + " user default"},

		"a dot in the scope": {key: "@acme.evil/x", want: "! neither scopes nor names have dots"},
		"upper case":         {key: "@Acme/x", want: "! invalid expert key"},
		"two slashes":        {key: "@acme/x/y", want: "! invalid expert key"},
		"an address":         {key: "https://host/x", want: "! invalid expert key"},
		"a look-alike":       {user: registry("a", acme, acmeScope), key: "@аcme/x", want: "! invalid expert key"},
	} {
		d, err := rules(t, c.user, c.project, c.bound).For(c.key)
		got := strings.TrimSpace(d.Registry.URL + " " + string(d.From))
		if d.Default {
			got += " default"
		}
		if d.Asks {
			got += " ?"
		}
		if err != nil {
			got = "! " + err.Error()
		}
		if want, fails := strings.CutPrefix(c.want, "! "); fails && (err == nil || !strings.Contains(err.Error(), want)) || !fails && got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, c.want)
		}
	}
}

// The key of a log belongs to its address. A project cannot replace it.
func TestLogKey(t *testing.T) {
	one, two := newLogKey(t, "acme.example/log"), newLogKey(t, "acme.example/log")
	with := func(key string) string {
		return registry("a", acme, `scopes = ["@acme"]`, fmt.Sprintf("logKey = %q", key))
	}
	without := registry("a", acme, `scopes = ["@acme"]`)
	known := func(key string) Bindings { return Bindings{LogKeys: map[string]string{acme: key}} }
	for name, c := range map[string]struct {
		user, project string
		bound         Bindings
		want          string
		from          Source
	}{
		"none":                          {user: without},
		"of the user":                   {user: with(one), want: one, from: User},
		"of the project":                {project: with(one), want: one, from: Project},
		"of an earlier run":             {user: without, bound: known(one), want: one},
		"both agree":                    {user: with(one), project: with(one), want: one, from: User},
		"the project has another":       {user: with(one), project: with(two), want: "!"},
		"an earlier run had another":    {project: with(two), bound: known(one), want: "!"},
		"the user is stronger":          {user: with(two), bound: known(one), want: two, from: User},
		"the user has another registry": {user: registry("b", evil, fmt.Sprintf("logKey = %q", two)), project: with(one), want: one, from: Project},
	} {
		d, err := rules(t, c.user, c.project, c.bound).For("@acme/x")
		var conflict *ConflictError
		if c.want == "!" {
			if !errors.As(err, &conflict) || !strings.Contains(conflict.Subject, acme) {
				t.Errorf("%s: %v", name, err)
			}
		} else if err != nil || d.Registry.LogKey != c.want || d.KeyFrom != c.from || d.KeyFrom == Project && !d.Asks {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
	}
	// The user has to allow a key that only the project knows, of the user's own and of the default registry too.
	builtIn := registry("p", public, fmt.Sprintf("logKey = %q", one))
	for name, r := range map[string]*Rules{
		"registry of the user": rules(t, without, with(one), Bindings{}),
		"default registry":     rules(t, "", builtIn, Bindings{}),
	} {
		if d, err := r.For("@acme/x"); err != nil || d.From == Project || d.KeyFrom != Project || !d.Asks {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
	}
	for name, d := range map[string]Decision{
		"address":  choose(t, rules(t, without, with(one), Bindings{}), acme),
		"nothing":  choose(t, rules(t, "", builtIn, Bindings{}), ""),
		"key seen": choose(t, rules(t, "", builtIn, Bindings{LogKeys: map[string]string{public: one}}), ""),
	} {
		if want := map[string]string{"key seen": one}[name]; d.Registry.LogKey != want || d.Asks || d.KeyFrom == Project {
			t.Errorf("the user names %s: %+v", name, d)
		}
	}
	u := &manifest.UserConfig{Registries: []manifest.Registry{{Name: "a", URL: acme, LogKey: "acme.example/log+00000000+AAAA"}}}
	if _, err := New(u, nil, Bindings{}); err == nil {
		t.Error("accepted a key that is none")
	}
}

func choose(t *testing.T, r *Rules, text string) Decision {
	t.Helper()
	d, err := r.Choose(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// What an Expert has to prove is for the user to say.
func TestPolicy(t *testing.T) {
	user := "minReleaseAge = '7d'\n[scopes.'@a']\nrequire = 'signed'\n[scopes.'@b']\nrequire = ['" + signer + "']\n[scopes.'@c']\nrequire = 'signed'\nkeys = ['" + signer + "']\nminReleaseAge = '36h'\n[scopes.'@d']\nrequire = 'logged'\n"
	r := rules(t, user, base(acme), Bindings{})
	key := strings.Join(strings.Fields(signer)[:2], " ")
	for name, want := range map[string]string{
		"x": "logged [] false 168h0m0s", "@a/x": "signed [] true 168h0m0s", "@b/x": "signed [" + key + "] true 168h0m0s",
		"@c/x": "signed [" + key + "] true 36h0m0s", "@d/x": "logged [] true 168h0m0s", "@e/x": "logged [] false 168h0m0s",
	} {
		d, err := r.For(name)
		if got := fmt.Sprint(d.Policy.Require, " ", d.Policy.Keys, " ", d.Policy.Strict, " ", d.Policy.MinReleaseAge); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", name, got, err, want)
		}
	}
	u := &manifest.UserConfig{Scopes: []manifest.Scope{{Name: "@a", Require: manifest.RequireSigned, Keys: []string{"ssh-ed25519 AAAA"}}}}
	if _, err := New(u, nil, Bindings{}); err == nil {
		t.Error("accepted a key that is none")
	}
	if time.Duration(0) != (&manifest.UserConfig{}).MinReleaseAge {
		t.Error("there is an age without a word of the user")
	}
}

// The first registry of a scope is kept, whatever projects say later, and so is the key of its log.
func TestBind(t *testing.T) {
	f, ctx := File{filepath.Join(t.TempDir(), "state", FileName)}, t.Context()
	one, two := newLogKey(t, "a"), newLogKey(t, "a")
	decide := func(user, project string) (Decision, error) {
		b, err := f.Load()
		if err != nil {
			t.Fatal(err)
		}
		return rules(t, user, project, b).For("@acme/x")
	}
	theirs := registry("p", acme, `scopes = ["@acme"]`)
	d, err := decide("", theirs)
	if err != nil {
		t.Fatal(err)
	}
	early, err := decide("", registry("p", evil, `scopes = ["@acme"]`)) // of a second process
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Bind(ctx, d, one, nil), f.Bind(ctx, d, one, nil)); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(f.Path); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("%v, %v", info, err)
	}
	var conflict *ConflictError
	for what, err := range map[string]error{
		"another registry":       f.Bind(ctx, early, two, nil),
		"another key":            f.Bind(ctx, d, two, nil),
		"a log that disappeared": f.Bind(ctx, d, "", nil),
	} {
		if !errors.As(err, &conflict) {
			t.Errorf("%s: %v", what, err)
		}
	}
	rotated := File{Path: filepath.Join(t.TempDir(), "registries.json")}
	if err := errors.Join(rotated.Bind(ctx, d, one, nil), rotated.Bind(ctx, d, two, func(key string) bool { return key == one })); err != nil {
		t.Errorf("a key that the log has replaced: %v", err)
	}
	if _, err := decide("", ""); !errors.As(err, &conflict) {
		t.Errorf("a project that says nothing: %v", err)
	}
	if d, err = decide("", theirs); err != nil || d.Registry.LogKey != one {
		t.Errorf("the same project: %+v, %v", d, err)
	}
	// The user can move the scope and change the key.
	d, err = decide(registry("a", acme, fmt.Sprintf("logKey = %q", two))+registry("b", evil, `scopes = ["@acme"]`), "")
	if err != nil || d.Registry.URL != evil {
		t.Fatalf("%+v, %v", d, err)
	}
	if err := f.Bind(ctx, d, two, nil); err != nil {
		t.Error(err)
	}
	d, err = decide(registry("a", acme, `scopes = ["@acme"]`, fmt.Sprintf("logKey = %q", two)), "")
	if err == nil {
		err = f.Bind(ctx, d, two, nil)
	}
	if b, _ := f.Load(); err != nil || b.LogKeys[acme] != two || b.Subjects["@acme"] != acme {
		t.Errorf("%+v, %v", b, err)
	}
}

func TestBindAtOnce(t *testing.T) {
	f := File{filepath.Join(t.TempDir(), FileName)}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if err := f.Bind(t.Context(), Decision{Subject: fmt.Sprintf("@s%d", i), Registry: Registry{URL: acme}}, "", nil); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if b, err := f.Load(); err != nil || len(b.Subjects) != 8 {
		t.Errorf("%+v, %v", b, err)
	}
}

// A damaged file is no permission to bind again.
func TestBindingsRefused(t *testing.T) {
	for _, text := range []string{"", "{}", `{"version":2}`, `{"version":1,"x":1}`, `{"version":1,"subjects":{"@A":"` + acme + `"}}`, `{"version":1,"subjects":{"@a":"` + acme + `/"}}`, `{"version":1,"subjects":{"@a":""}}`, `{"version":1,"logKeys":{"` + acme + `":"k"}}`} {
		f := File{filepath.Join(t.TempDir(), FileName)}
		if err := os.WriteFile(f.Path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Load(); err == nil {
			t.Errorf("%s was read", text)
		}
		if err := f.Bind(t.Context(), Decision{Subject: "@a", Registry: Registry{URL: acme}}, "", nil); err == nil {
			t.Errorf("%s was replaced", text)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"version":1,"subjects":{"@a":"https://a.example","writer":"https://a.example/x"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := parse(data)
		for subject, url := range b.Subjects {
			if err != nil || url == "" || strings.ContainsAny(subject, " \n\x1b.") {
				t.Errorf("accepted %q for %q", url, subject)
			}
		}
	})
}

// A reference to a container registry says where the Expert is. The user is asked, unless the user's own
// configuration speaks of the place. The longest name counts.
func TestForOCI(t *testing.T) {
	user := "minReleaseAge = '2d'\n[scopes.'oci://registry.example']\nrequire = 'signed'\n[scopes.'oci://registry.example/acme']\nrequire = ['" + signer + "']\nminReleaseAge = '1h'\n[scopes.'@acme']\nrequire = 'logged'\n"
	r := rules(t, user, "", Bindings{})
	for key, want := range map[string]Decision{
		"oci://registry.example/acme/x:1.0.0": {From: User, Policy: Policy{Require: manifest.RequireSigned, Strict: true, MinReleaseAge: time.Hour}},
		"oci://registry.example/acme":         {From: User, Policy: Policy{Require: manifest.RequireSigned, Strict: true, MinReleaseAge: time.Hour}},
		"oci://registry.example/acme2/x":      {From: User, Policy: Policy{Require: manifest.RequireSigned, Strict: true, MinReleaseAge: 48 * time.Hour}},
		"oci://registry.example:5000/acme/x":  {From: Project, Asks: true, Policy: Policy{Require: manifest.RequireLogged, MinReleaseAge: 48 * time.Hour}},
		"oci://other.example/acme/x":          {From: Project, Asks: true, Policy: Policy{Require: manifest.RequireLogged, MinReleaseAge: 48 * time.Hour}},
	} {
		got, err := r.For(key)
		if err != nil {
			t.Fatal(err)
		}
		host, _, _ := strings.Cut(strings.TrimPrefix(key, "oci://"), "/")
		if got.From != want.From || got.Asks != want.Asks || got.Registry.URL != "oci://"+host || got.Default || got.Policy.Require != want.Policy.Require ||
			got.Policy.Strict != want.Policy.Strict || got.Policy.MinReleaseAge != want.Policy.MinReleaseAge {
			t.Errorf("%s: %+v", key, got)
		}
		f := File{Path: filepath.Join(t.TempDir(), FileName)}
		if err := f.Bind(t.Context(), got, "", nil); err != nil {
			t.Error(err)
		}
		if b, err := f.Load(); err != nil || len(b.Subjects) > 0 {
			t.Errorf("%v, %v", b, err)
		}
	}
	if _, err := r.For("oci://registry.example"); err == nil {
		t.Error("a registry is no Expert")
	}
	if all, err := r.Policies(); err != nil || len(all["oci://registry.example/acme"].Keys) != 1 {
		t.Errorf("%v, %v", all, err)
	}
}

// The witnesses of a registry are those of the user, and hold wherever the address comes from. A project names none.
func TestWitnesses(t *testing.T) {
	c, _, err := tlog.NewCosigner(rand.Reader, "w1", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	key := c.Witness.String()
	r := rules(t, registry("acme", acme, `witnesses = ["`+key+`"]`), registry("acme", acme, `scopes = ["@acme"]`), Bindings{})
	d, err := r.For("@acme/x")
	if err != nil || d.Registry.RequireWitnesses != 1 || !slices.Equal(d.Registry.Witnesses, []string{key}) {
		t.Errorf("%+v, %v", d, err)
	}
	if d, err := r.Choose(acme); err != nil || d.Registry.RequireWitnesses != 1 {
		t.Errorf("%+v, %v", d, err)
	}
	for _, keys := range []string{`["` + key + `", "` + key + `"]`, `["` + newLogKey(t, "acme/log") + `"]`} {
		user, problems := manifest.ParseUser("config.toml", []byte(registry("acme", acme, "witnesses = "+keys)))
		if user == nil {
			t.Fatal(problems)
		}
		if _, err := New(user, nil, Bindings{}); err == nil || !strings.Contains(err.Error(), "witness") {
			t.Errorf("%s: %v", keys, err)
		}
	}
}
