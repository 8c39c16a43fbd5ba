package manifest

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/expert"
)

func TestPackage(t *testing.T) {
	for _, c := range []struct {
		line string
		want expert.Package
	}{
		{"npx x", expert.Package{Manager: "npx", Name: "x"}},
		{"npx.cmd x", expert.Package{Manager: "npx", Name: "x"}},
		{"npx -y x", expert.Package{Manager: "npx", Name: "x"}},
		{"npx --yes -q --quiet @s/x@1.2.3-rc.1", expert.Package{Manager: "npx", Name: "@s/x", Version: "1.2.3-rc.1"}},
		{"npx x@latest", expert.Package{Manager: "npx", Name: "x", Tag: "latest"}},
		{"npx x@1", expert.Package{Manager: "npx", Name: "x", Tag: "1"}},
		{"npx -- x", expert.Package{Manager: "npx", Name: "x"}},
		{"npx -p @s/x@1.0.0 run", expert.Package{Manager: "npx", Name: "@s/x", Version: "1.0.0", Program: "run"}},
		{"npx --package x run a", expert.Package{Manager: "npx", Name: "x", Program: "run", Args: []string{"a"}}},
		{"npx --package=x -y -- run", expert.Package{Manager: "npx", Name: "x", Program: "run"}},
		// What follows the package is for the server, whatever it looks like.
		{"npx x -y -c --call=y -- --node-options=z -p w", expert.Package{Manager: "npx", Name: "x", Args: []string{"-y", "-c", "--call=y", "--", "--node-options=z", "-p", "w"}}},
		{"npx -- x --call=y", expert.Package{Manager: "npx", Name: "x", Args: []string{"--call=y"}}},
		{"npx -p x run --call=y", expert.Package{Manager: "npx", Name: "x", Program: "run", Args: []string{"--call=y"}}},
		{"npx x ;rm $(y) |", expert.Package{Manager: "npx", Name: "x", Args: []string{";rm", "$(y)", "|"}}},
		{"uvx x@2025.1.14 a", expert.Package{Manager: "uvx", Name: "x", Version: "2025.1.14", Args: []string{"a"}}},
		{"uvx.exe -q -- x", expert.Package{Manager: "uvx", Name: "x"}},
		{"uvx --from x@0.6 run --from y", expert.Package{Manager: "uvx", Name: "x", Tag: "0.6", Program: "run", Args: []string{"--from", "y"}}},
		{"uvx --from=x run", expert.Package{Manager: "uvx", Name: "x", Program: "run"}},
	} {
		words := strings.Fields(c.line)
		s := &expert.Skill{Name: "s", Type: expert.StdioSkill, Command: words[0], Args: words[1:]}
		got, ok := s.Package()
		if d := cmp.Diff(c.want, got); d != "" || !ok {
			t.Errorf("%s: %v (-want +got)\n%s", c.line, ok, d)
		}
		plausible(t, got)
		if line, err := s.CommandLine(); err == nil {
			t.Errorf("%s would be started as %q", c.line, line)
		}
	}
	named := &expert.Skill{Type: expert.StdioSkill, Command: "npx", PackageName: "@s/x@1.0.0"}
	if p, ok := named.Package(); !ok || p.Spec() != "@s/x@1.0.0" {
		t.Errorf("%+v, %v", p, ok)
	}
}

// Attacks M5, S3, C1 and C2: no option of a package manager but the harmless ones, and
// nothing but the name of a package.
func TestPackageRefused(t *testing.T) {
	for line, want := range map[string]string{
		"npx":                               "npx is given no package",
		"npx -y":                            "npx is given no package",
		"npx -y --":                         "npx is given no package",
		"npx -c x":                          `npx does not get the option "-c"`,
		"npx -y -c x":                       `npx does not get the option "-c"`,
		"npx -yc x":                         `npx does not get the option "-yc"`,
		"npx --call=touch x":                `npx does not get the option "--call=touch"`,
		"npx --call x":                      `npx does not get the option "--call"`,
		"npx --yes=x --call=y z":            `npx does not get the option "--yes=x"`,
		"npx --node-options=--require=x y":  `npx does not get the option "--node-options=--require=x"`,
		"npx --registry=https://r.exampl x": `npx does not get the option "--registry=https://r.exampl"`,
		"npx --shell sh x":                  `npx does not get the option "--shell"`,
		"npx --prefix . x":                  `npx does not get the option "--prefix"`,
		"npx - x":                           `npx does not get the option "-"`,
		"npx ---call x":                     `npx does not get the option "---call"`,
		"npx -- -c x":                       `npx cannot fetch "-c"`,
		"npx -- -- x":                       `npx cannot fetch "--"`,
		"npx -p":                            "npx is given no package",
		"npx -p x":                          "npx is not told which program of the package to start",
		"npx -p x --":                       "npx is not told which program of the package to start",
		"npx -p x -c y":                     `npx does not get the option "-c"`,
		"npx -p x -- -c":                    `npx cannot start the program "-c"`,
		"npx -p x ../y":                     `npx cannot start the program "../y"`,
		"npx -p x a;b":                      `npx cannot start the program "a;b"`,
		"npx -p x -p y z":                   "npx is given a second package",
		"npx -p -c y":                       `npx cannot fetch "-c"`,
		"npx -p=x y":                        `npx does not get the option "-p=x"`,
		"npx --package= y":                  `npx cannot fetch ""`,
		"npx --package=-c y":                `npx cannot fetch "-c"`,
		"npx invalid;package":               `npx cannot fetch "invalid;package"`,
		"npx x$(y)":                         `npx cannot fetch "x$(y)"`,
		"npx x`y`":                          "npx cannot fetch \"x`y`\"",
		"npx x|y":                           `npx cannot fetch "x|y"`,
		"npx x&y":                           `npx cannot fetch "x&y"`,
		"npx X":                             `npx cannot fetch "X"`,
		"npx git+https://g.example/x.git":   `npx cannot fetch "git+https://g.example/x.git"`,
		"npx https://g.example/x.tgz":       `npx cannot fetch "https://g.example/x.tgz"`,
		"npx github:a/b":                    `npx cannot fetch "github:a/b"`,
		"npx a/b":                           `npx cannot fetch "a/b"`,
		"npx file:x":                        `npx cannot fetch "file:x"`,
		"npx ./x":                           `npx cannot fetch "./x"`,
		"npx ../x":                          `npx cannot fetch "../x"`,
		"npx /x":                            `npx cannot fetch "/x"`,
		"npx .":                             `npx cannot fetch "."`,
		"npx x.tgz@npm:y":                   `npx cannot fetch "x.tgz@npm:y"`,
		"npx x@file:y":                      `npx cannot fetch "x@file:y"`,
		"npx x@^1.0.0":                      `npx cannot fetch "x@^1.0.0"`,
		"npx x@*":                           `npx cannot fetch "x@*"`,
		"npx x@-c":                          `npx cannot fetch "x@-c"`,
		"npx @s/-x":                         `npx cannot fetch "@s/-x"`,
		"npx @s/x/y":                        `npx cannot fetch "@s/x/y"`,
		"uvx":                               "uvx is given no package",
		"uvx -y x":                          `uvx does not get the option "-y"`,
		"uvx -p 3.12 x":                     `uvx does not get the option "-p"`,
		"uvx --with evil x":                 `uvx does not get the option "--with"`,
		"uvx --index-url=https://i.ex x":    `uvx does not get the option "--index-url=https://i.ex"`,
		"uvx --from git+https://g.ex/x y":   `uvx cannot fetch "git+https://g.ex/x"`,
		"uvx --from x":                      "uvx is not told which program of the package to start",
		"uvx x==1.0.0":                      `uvx cannot fetch "x==1.0.0"`,
		"uvx x[all]":                        `uvx cannot fetch "x[all]"`,
	} {
		words := strings.Fields(line)
		_, fault := expert.ParsePackage(words[0], words[1:])
		if fault == nil || fault.Message != want || fault.Hint == "" || fault.At >= len(words)-1 {
			t.Errorf("%s: %+v, want %s", line, fault, want)
		}
		s := &expert.Skill{Name: "s", Type: expert.StdioSkill, Command: words[0], Args: words[1:]}
		if p, ok := s.Package(); ok {
			t.Errorf("%s is %+v", line, p)
		}
		if argv, err := s.CommandLine(); err == nil {
			t.Errorf("%s, which we cannot interpret, would be started as %q", line, argv)
		}
		list := "'" + strings.Join(words[1:], "', '") + "'"
		if len(words) == 1 {
			list = ""
		}
		if _, ps := Parse("p.toml", []byte(skillWith("mcpStdioSkill", "command = '"+words[0]+"'\nargs = ["+list+"]"))); ps.Err() == nil {
			t.Errorf("%s is accepted in a file", line)
		}
	}
	for _, text := range []string{"", " ", "a b", "a\nb", "a\x00", "é", "x@1.0.0 -c", "\u200bx"} {
		if _, fault := expert.ParsePackage("npx", []string{text}); fault == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

// Programs of the machine are no packages, and are started as they are written.
func TestCommandLine(t *testing.T) {
	for _, c := range []struct {
		skill expert.Skill
		want  []string
	}{
		{expert.Skill{Type: expert.StdioSkill, Command: "server"}, []string{"server"}},
		{expert.Skill{Type: expert.StdioSkill, Command: "node", Args: []string{"-c", "x"}}, []string{"node", "-c", "x"}},
		{expert.Skill{Type: expert.StdioSkill, Command: "bunx", PackageName: "x"}, []string{"bunx", "x"}},
		{expert.Skill{Type: expert.StdioSkill, Command: "npx-like", Args: []string{"x"}}, []string{"npx-like", "x"}},
		{expert.Skill{Type: expert.StdioSkill, Command: "npx", Args: []string{"x"}}, nil},
		{expert.Skill{Type: expert.StdioSkill, Command: "node", BuiltIn: true}, nil},
		{expert.Skill{Type: expert.StdioSkill}, nil},
		{expert.Skill{Type: expert.HTTPSkill, Command: "node"}, nil},
	} {
		got, err := c.skill.CommandLine()
		if !slices.Equal(got, c.want) || (err == nil) != (c.want != nil) {
			t.Errorf("%+v: %q, %v, want %q", c.skill, got, err, c.want)
		}
		if p, ok := c.skill.Package(); ok != (c.skill.Command == "npx") {
			t.Errorf("%+v is the package %+v", c.skill, p)
		}
	}
	for _, command := range []string{"/usr/bin/npx", `C:\npx.cmd`, "NPX", "./uvx", "npx.ps1", "npx.exe", "npx.", "Uvx.EXE", "uvx.bat", "node_modules/.bin/npx"} {
		if message, _ := expert.DisguisedManager(command); message == "" {
			t.Errorf("%s is accepted", command)
		}
		s := &expert.Skill{Type: expert.StdioSkill, Command: command, Args: []string{"x"}}
		if line, err := s.CommandLine(); err == nil {
			t.Errorf("%q would be started", line)
		}
	}
	for _, command := range []string{"npx", "uvx", "npx.cmd", "uvx.exe", "node", "./npxs", "uv", "/opt/mynpx", "npx.js", "npx/server"} {
		if message, _ := expert.DisguisedManager(command); message != "" {
			t.Errorf("%s: %s", command, message)
		}
	}
}

// plausible checks what holds for every package, with grammars of its own.
func plausible(t *testing.T, p expert.Package) {
	t.Helper()
	name := regexp.MustCompile(`^(@[a-z0-9][a-z0-9._-]*/)?[a-z0-9][a-z0-9._-]*$`)
	suffix := regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._+-]*$`)
	program := regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]*$`)
	good := (p.Manager == "npx" || p.Manager == "uvx") && name.MatchString(p.Name) && (p.Version == "" || p.Tag == "") &&
		(p.Version+p.Tag == "" || suffix.MatchString(p.Version+p.Tag)) && (p.Program == "" || program.MatchString(p.Program)) && len(p.Spec()) <= expert.MaxKey
	if message, _ := expert.PackageName(p.Spec()); message != "" || !good {
		t.Errorf("bad package %+v: %s", p, message)
	}
}

// FuzzPackage checks that whatever a file says, what a package manager is asked for is
// a name and a version, nothing that starts with a dash is taken for either, and the
// server gets the end of the arguments unchanged.
func FuzzPackage(f *testing.F) {
	for _, s := range []string{"x", "-y\nx", "-p\nx\nrun\n--call=y", "--package=x\nrun", "--\n-c", "--call=x", "--from\nx\ny", "@s/x@1.0.0\n--", "x@latest", ""} {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, lines string, npm bool) {
		manager, args := "uvx", strings.Split(lines, "\n")
		if npm {
			manager = "npx"
		}
		p, fault := expert.ParsePackage(manager, args)
		if (fault == nil) == (p.Manager == "") {
			t.Fatalf("package %+v, fault %+v", p, fault)
		}
		if fault != nil {
			if fault.At < -1 || fault.At >= len(args) || fault.Message == "" || fault.Hint == "" {
				t.Errorf("bad fault %+v", fault)
			}
			return
		}
		plausible(t, p)
		if p.Manager != manager || len(p.Args) >= len(args) || !slices.Equal(p.Args, args[len(args)-len(p.Args):]) && len(p.Args) > 0 {
			t.Errorf("%q are the arguments, out of %q", p.Args, args)
		}
		before := args[:len(args)-len(p.Args)]
		if !slices.ContainsFunc(before, func(s string) bool { return s == p.Spec() || strings.HasSuffix(s, "="+p.Spec()) }) {
			t.Errorf("%s is not in %q", p.Spec(), before)
		}
	})
}
