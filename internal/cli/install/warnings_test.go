package install

import (
	"context"
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

// With runtime docker, the user is told before a program starts that it has no container.
func TestWarnNoContainer(t *testing.T) {
	const line = "perstack: to list their tools, skills are started on this machine, not in a container\n"
	b := newBench(t, "runtime = \"docker\"\n"+twoExperts)
	b.during = func(context.Context, string) {
		if !strings.Contains(b.errOut.String(), line) {
			t.Error("a program was started before it was told")
		}
	}
	if _, err := b.install(t.Context()); err != nil || strings.Count(b.errOut.String(), line) != 1 {
		t.Errorf("%v: %s", err, b.errOut.String())
	}
	// Nothing is started the second time, nor by --check.
	for _, change := range [][]func(*Options){nil, {check}} {
		if _, err := b.install(t.Context(), change...); err != nil || len(b.asked) > 0 || strings.Contains(b.errOut.String(), line) {
			t.Errorf("%v, asked %q: %s", err, b.asked, b.errOut.String())
		}
	}
	for name, file := range map[string]string{
		"no container": "runtime = \"local\"\n" + twoExperts,
		"no program":   "runtime = \"docker\"\n[experts.a]\ninstruction = \"x\"\n[experts.a.skills.web]\ntype = \"mcpHttpSkill\"\nendpoint = \"https://a.example/\"\n",
	} {
		b := newBench(t, file)
		if _, err := b.install(t.Context()); err != nil || strings.Contains(b.errOut.String(), line) {
			t.Errorf("%s: %v: %s", name, err, b.errOut.String())
		}
	}
}
