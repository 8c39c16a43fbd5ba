package install

import (
	"strings"
	"testing"
)

// Names shared by a skill and another Expert are reported when they can be fixed, not when
// the Expert is run.
func TestInstallWarnsAboutDelegates(t *testing.T) {
	b := newBench(t, `
[experts.lead]
instruction = "x"
delegates = ["@far/find"]
[experts.lead.skills.web]
type = "mcpStdioSkill"
command = "web"
`)
	b.tools["web"] = []string{`{"name":"find","inputSchema":{}}`}
	if _, err := b.install(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := `perstack: warning: expert "lead" will not start: skill "web" and delegate "@far/find" both offer a tool named "find"; leave it out with omit, ` +
		`or set toolPrefix = true for the skill; or give the Expert another name, since the last part of it is the name of the tool` + "\n"
	if got := b.errOut.String(); strings.Count(got, want) != 1 {
		t.Errorf("%q is not in\n%s", want, got)
	}
}
