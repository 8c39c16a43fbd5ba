package packages

import (
	"fmt"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/lockfile"
)

var sum = "sha512-" + strings.Repeat("A", 86) + "=="

// aTree is a pinned package, with a part of its text replaced.
func aTree(old, replacement string) *lockfile.Package {
	text := `{"lockfileVersion":3,"requires":true,"packages":{
"":{"dependencies":{"tool":"1.0.0"}},
"node_modules/inner":{"version":"1.0.0","integrity":"` + sum + `"},
"node_modules/tool":{"version":"1.0.0","integrity":"` + sum + `","dependencies":{"inner":"^1.0.0"}}
}}
`
	return &lockfile.Package{Manager: "npx", Name: "tool", Version: "1.0.0", Integrity: sum, Tree: strings.Replace(text, old, replacement, 1)}
}

// A pinned tree may be written by anybody; what is not exactly what we write is refused.
func TestLockedTree(t *testing.T) {
	if _, err := lockedTree(aTree("", "")); err != nil {
		t.Fatal(err)
	}
	inner := `"node_modules/inner":{"version":"1.0.0","integrity":"` + sum + `"}`
	tests := map[string][2]string{
		"resolved":            {`"version":"1.0.0",`, `"version":"1.0.0","resolved":"http://evil.example/x.tgz",`},
		"link":                {inner, `"node_modules/inner":{"link":true,"version":"1.0.0","integrity":"` + sum + `"}`},
		"script":              {`"version":"1.0.0",`, `"version":"1.0.0","scripts":{"install":"x"},`},
		"bin":                 {`"version":"1.0.0",`, `"version":"1.0.0","bin":{"x":"../../x"},`},
		"place above":         {`node_modules/inner`, `node_modules/../../inner`},
		"place absolute":      {`node_modules/inner`, `/etc/inner`},
		"place workspace":     {`node_modules/inner`, `inner`},
		"place odd":           {`node_modules/inner`, `node_modules/.inner`},
		"no integrity":        {`"integrity":"` + sum + `"}`, `"inBundle":false}`},
		"none at all":         {`,"integrity":"` + sum + `"}`, `}`},
		"without a bundler":   {`"integrity":"` + sum + `"}`, `"inBundle":true}`},
		"another package":     {`"node_modules/tool":{`, `"node_modules/tool":{"name":"evil",`},
		"weak":                {`"integrity":"` + sum + `"}`, `"integrity":"sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk="}`},
		"short":               {`"integrity":"` + sum + `"}`, `"integrity":"sha512-AAAA"}`},
		"two":                 {`"integrity":"` + sum + `"}`, `"integrity":"` + sum + ` ` + sum + `"}`},
		"git":                 {`"^1.0.0"`, `"git+https://evil.example/x"`},
		"hosted":              {`"^1.0.0"`, `"evil/x"`},
		"file":                {`"^1.0.0"`, `"file:../x"`},
		"alias with address":  {`"^1.0.0"`, `"npm:x@http://evil.example"`},
		"range as version":    {`"version":"1.0.0"`, `"version":"^1.0.0"`},
		"name":                {inner, `"node_modules/inner":{"name":"../x","version":"1.0.0","integrity":"` + sum + `"}`},
		"word":                {inner, `"node_modules/inner":{"version":"1.0.0","integrity":"` + sum + `","os":["\u001b"]}`},
		"other root":          {`"":{"dependencies":{"tool"`, `"":{"dependencies":{"inner"`},
		"more in root":        {`"":{"dependencies":{"tool":"1.0.0"}`, `"":{"dependencies":{"tool":"1.0.0"},"hasInstallScript":true`},
		"two in root":         {`"":{"dependencies":{`, `"":{"dependencies":{"inner":"1.0.0",`},
		"no root":             {`"":{"dependencies":{"tool":"1.0.0"}},` + "\n", ``},
		"white space":         {"\n}}", "\n\n}}"},
		"order":               {`"version":"1.0.0","integrity":"` + sum + `"}`, `"integrity":"` + sum + `","version":"1.0.0"}`},
		"twice":               {inner, inner + ",\n" + inner},
		"version of lockfile": {`"lockfileVersion":3`, `"lockfileVersion":2`},
		"no JSON":             {`{`, ``},
		"another version":     {`"node_modules/tool":{"version":"1.0.0"`, `"node_modules/tool":{"version":"1.0.1"`},
	}
	for name, tt := range tests {
		p := aTree(tt[0], tt[1])
		if p.Tree == aTree("", "").Tree {
			t.Fatalf("%s: nothing changed", name)
		}
		if _, err := lockedTree(p); err == nil || !strings.Contains(err.Error(), lockfile.InstallAgain) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	for name, change := range map[string]func(*lockfile.Package){
		"manager":   func(p *lockfile.Package) { p.Manager = "uvx" },
		"name":      func(p *lockfile.Package) { p.Name = "../tool" },
		"other":     func(p *lockfile.Package) { p.Name = "inner" },
		"version":   func(p *lockfile.Package) { p.Version = "latest" },
		"integrity": func(p *lockfile.Package) { p.Integrity = strings.Replace(p.Integrity, "AA", "AB", 1) },
		"no tree":   func(p *lockfile.Package) { p.Tree = "" },
		"long":      func(p *lockfile.Package) { p.Tree += strings.Repeat(" ", maxTree) },
	} {
		p := aTree("", "")
		change(p)
		if _, err := lockedTree(p); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// Without an integrity is only what its bundler lists, or what that needs inside of it.
func TestBundled(t *testing.T) {
	const head = `{"lockfileVersion":3,"requires":true,"packages":{` + "\n" + `"":{"dependencies":{"tool":"1.0.0"}}` + ",\n"
	pinned := `"version":"1.0.0","integrity":"` + sum + `"`
	const loose = `{"version":"1.0.0","inBundle":true}`
	tests := []struct {
		name string
		ok   bool
		rest []string
	}{
		{"listed", true, []string{`"node_modules/tool":{` + pinned + `,"bundleDependencies":["a"]}`, `"node_modules/tool/node_modules/a":` + loose}},
		{"needed by what is listed", true, []string{
			`"node_modules/tool":{` + pinned + `,"bundleDependencies":["a"]}`, `"node_modules/tool/node_modules/a":{"version":"1.0.0","inBundle":true,"dependencies":{"b":"*","c":"*"}}`,
			`"node_modules/tool/node_modules/a/node_modules/b":` + loose, `"node_modules/tool/node_modules/c":` + loose,
		}},
		{"no list", false, []string{`"node_modules/tool":{` + pinned + `,"dependencies":{"a":"*"}}`, `"node_modules/tool/node_modules/a":` + loose}},
		{"another is listed", false, []string{
			`"node_modules/tool":{` + pinned + `,"dependencies":{"a":"*"},"bundleDependencies":["b"]}`, `"node_modules/tool/node_modules/a":` + loose, `"node_modules/tool/node_modules/b":` + loose,
		}},
		{"not around it", false, []string{`"node_modules/a":` + loose, `"node_modules/tool":{` + pinned + `,"bundleDependencies":["a"]}`}},
		{"listed by what is pinned itself", false, []string{
			`"node_modules/tool":{` + pinned + `,"bundleDependencies":["a"]}`, `"node_modules/tool/node_modules/a":{` + pinned + `,"dependencies":{"b":"*"}}`, `"node_modules/tool/node_modules/b":` + loose,
		}},
		{"not in a bundle", false, []string{`"node_modules/tool":{` + pinned + `,"bundleDependencies":["a"]}`, `"node_modules/tool/node_modules/a":{"version":"1.0.0"}`}},
	}
	for _, tt := range tests {
		p := aTree("", "")
		p.Tree = head + strings.Join(tt.rest, ",\n") + "\n}}\n"
		if _, err := lockedTree(p); (err == nil) != tt.ok || err != nil && !strings.Contains(err.Error(), "strong checksum") {
			t.Errorf("%s: error %v", tt.name, err)
		}
	}
}

// npm's own words are shown short, safe and without secrets.
func TestNpmError(t *testing.T) {
	s := &Store{Environ: []string{"npm_config__authToken=hunter2", "npm_config_registry=http://reg"}}
	var long strings.Builder
	long.WriteString("npm error code E403\nnpm error 403 \x1b[31mNot found\u202e - GET http://user:pw@reg/x?hunter2\n")
	long.WriteString("npm error A complete log of this run can be found in: /home/u/.npm/_logs/x\n")
	got := npmError(1, hide(setup(s.Environ), long.String())).Error()
	want := "npm failed with exit status 1; npm said last: 403 ?[31mNot found? - GET http://…@reg/x?…"
	if got != want {
		t.Errorf("error %q", got)
	}
	for range 1000 {
		long.WriteString("npm error " + strings.Repeat("long ", 1000) + "\n")
	}
	if got := npmError(1, long.String()).Error(); len(got) > maxSaid+200 {
		t.Errorf("%d bytes", len(got))
	}
	if got := npmError(7, "").Error(); got != "npm failed with exit status 7" {
		t.Errorf("error %q", got)
	}
}

func FuzzLockedTree(f *testing.F) {
	f.Add(aTree("", "").Tree)
	f.Fuzz(func(t *testing.T, text string) {
		p := aTree("", "")
		p.Tree = text
		if tree, err := lockedTree(p); err == nil && (tree.String() != text || strings.Contains(text, "resolved\"") || strings.Contains(text, "..")) {
			t.Errorf("accepted %s", text)
		}
	})
}

// T15: a tree that would take long to check is refused.
func TestLargeTree(t *testing.T) {
	place := func(depth int) string { return strings.Repeat("/node_modules/a", depth)[1:] }
	entry := `":{"version":"1.0.0","integrity":"` + sum + `","bundleDependencies":["a"]}`
	inner := `"node_modules/inner":{"version":"1.0.0","integrity":"` + sum + `"}`
	var members strings.Builder
	for i := range maxMembers {
		fmt.Fprintf(&members, `"p%d":"*",`, i)
	}
	for name, tt := range map[string]struct{ old, replacement, want string }{
		"deep":           {inner, `"` + place(maxNesting) + entry + ",\n" + inner, ""},
		"too deep":       {inner, `"` + place(maxNesting+1) + entry + ",\n" + inner, "is no place for a package"},
		"far too deep":   {inner, `"` + place(5000) + entry + ",\n" + inner, "is no place for a package"},
		"a long name":    {inner, `"node_modules/` + strings.Repeat("a", 9000) + entry + ",\n" + inner, "is no place for a package"},
		"many":           {`"inner":"^1.0.0"`, members.String() + `"inner":"^1.0.0"`, "its tree has more than 100000 members"},
		"large":          {`"^1.0.0"`, `"` + strings.Repeat("1 ", maxTree/2) + `"`, "its tree has more than 8388608 bytes"},
		"not large":      {`"^1.0.0"`, `"` + strings.Repeat("1 ", 1000) + `"`, ""},
		"nothing around": {inner, `"node_modules/x/node_modules/y/node_modules/a` + entry + ",\n" + inner, ""},
	} {
		_, err := lockedTree(aTree(tt.old, tt.replacement))
		if tt.want == "" && err != nil && !strings.Contains(err.Error(), "in the form in which it was written") ||
			tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %.300v", name, err)
		}
	}
}
