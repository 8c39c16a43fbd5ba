package install

import (
	"bytes"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/lockfile"
)

// Names shared by a skill and another Expert are reported when they can be fixed, not when
// the Expert is run.
func TestInstallWarnsAboutDelegates(t *testing.T) {
	b := newBench(t, `
[experts.lead]
instruction = "x"
delegates = ["find"]
[experts.lead.skills.web]
type = "mcpStdioSkill"
command = "web"
`)
	b.tools["web"] = []string{`{"name":"find","inputSchema":{}}`}
	if _, err := b.install(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := `perstack: warning: expert "lead" will not start: skill "web" and delegate "find" both offer a tool named "find"; leave it out with omit, ` +
		`or set toolPrefix = true for the skill; or give the Expert another name, since the last part of it is the name of the tool` + "\n"
	if got := b.errOut.String(); strings.Count(got, want) != 1 {
		t.Errorf("%q is not in\n%s", want, got)
	}
}

// Files of a program that have changed are named: what they do is what is installed now.
func TestShowDifferencesOfProgram(t *testing.T) {
	sum := func(c string) string { return strings.Repeat(c, 64) + "  " }
	for name, c := range map[string]struct{ before, now, want string }{
		"same":    {sum("a") + "s.py\n", sum("a") + "s.py\n", "  web (a): no difference to what was installed before\n"},
		"changed": {sum("a") + "s.py\n", sum("b") + "s.py\n", "  web (a): ~ program: s.py has changed\n"},
		"each":    {sum("a") + "old.py\n" + sum("a") + "s.py\n", sum("a") + "new.py\n" + sum("b") + "s.py\n", "  web (a): ~ program: old.py is gone\n  web (a): ~ program: s.py has changed\n  web (a): ~ program: new.py is new\n"},
	} {
		var out bytes.Buffer
		p := &project{opts: &Options{Host: &host.Host{Stdout: &out}}}
		p.showDifferences(&server{
			users:  []user{{"a", &expert.Skill{Name: "web"}}},
			before: &lockfile.Skill{Program: c.before}, found: &lockfile.Skill{Program: c.now},
		})
		if out.String() != c.want {
			t.Errorf("%s: %q, want %q", name, out.String(), c.want)
		}
	}
}
