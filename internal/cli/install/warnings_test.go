package install

import (
	"strings"
	"testing"
)

// Names that a skill and another Expert have, or that are kept for the base skill, are told
// when they can be mended, and not when the Expert is run.
func TestInstallWarnsAboutDelegates(t *testing.T) {
	b := newBench(t, `
[experts.lead]
instruction = "x"
delegates = ["@far/find", "exec"]
[experts.lead.skills."@perstack/base"]
type = "mcpStdioSkill"
omit = ["exec"]
[experts.lead.skills.web]
type = "mcpStdioSkill"
command = "web"
[experts.exec]
instruction = "x"
`)
	b.tools["web"] = []string{`{"name":"find","inputSchema":{}}`}
	if _, err := b.install(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`perstack: warning: expert "lead" will not start: skill "web" and delegate "@far/find" both offer a tool named "find"; leave it out with omit, ` +
			`or set toolPrefix = true for the skill; or give the Expert another name, since the last part of it is the name of the tool` + "\n",
		`perstack: warning: expert "lead" will not start: delegate "exec" offers a tool named "exec", which is a name of the base skill "@perstack/base"; give the Expert another name`,
	} {
		if got := b.errOut.String(); strings.Count(got, want) != 1 {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}
