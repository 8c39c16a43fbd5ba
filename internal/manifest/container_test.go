package manifest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/job"
)

// What the container does not have, or its proxy cannot reach, is refused before anything
// starts, with its place in the file.
func TestContainerRefuses(t *testing.T) {
	const (
		python = "is a package of uvx, and no image has Python for it; name one in [docker] with pythonImage, or baseImage"
		both   = "is a package of uvx beside packages of npx, and one container cannot have both nodeImage and pythonImage; name an image with both in [docker] with baseImage"
		advice = "; use runtime local, or a server on port 443 of a public host"
		no     = "cannot be used with runtime docker: "

		names = "its proxy connects only to names of letters, digits and hyphens, none of which begins with xn--"
	)
	base := func(text string) string {
		return expertWith("[experts.a.skills.\"@perstack/base\"]\ntype='mcpStdioSkill'\n" + text)
	}
	for name, tt := range map[string]struct {
		text string
		want []string
	}{
		"nothing":                 {expertWith(""), nil},
		"the base skill":          {base("command='npx'\npackageName='@perstack/base'"), nil},
		"hosts of commands":       {base("allowedDomains=['a.example', '*.b.example']"), nil},
		"a version of it":         {base("packageName='@perstack/base@0.0.34'\ncommand='npx'"), nil},
		"npx":                     {skillWith("mcpStdioSkill", "command='npx'\npackageName='x'"), nil},
		"npx of Windows":          {skillWith("mcpStdioSkill", "command='npx.cmd'\npackageName='x'"), nil},
		"uvx":                     {skillWith("mcpStdioSkill", "command='uvx'\nargs=['x']"), []string{"3:19: experts.a.skills.s: " + python}},
		"uvx with Python":         {"docker.pythonImage='python:3'\n" + skillWith("mcpStdioSkill", "command='uvx'\nargs=['x']"), nil},
		"uvx on a base":           {"docker.baseImage='python:3'\n" + skillWith("mcpStdioSkill", "command='uvx'\nargs=['x']"), nil},
		"both":                    {"docker.pythonImage='python:3'\n" + skillWith("mcpStdioSkill", "command='uvx'\nargs=['x']\n[experts.a.skills.t]\ntype='mcpStdioSkill'\ncommand='npx'\npackageName='y'"), []string{"4:19: experts.a.skills.s: " + both}},
		"both by a delegate":      {"docker.pythonImage='python:3'\n" + skillWith("mcpStdioSkill", "command='uvx'\nargs=['x']\n[experts.b]\ninstruction='x'\n[experts.b.skills.t]\ntype='mcpStdioSkill'\ncommand='npx'\npackageName='y'"), nil},
		"both on a base":          {"docker.baseImage='both:1'\n" + skillWith("mcpStdioSkill", "command='uvx'\nargs=['x']\n[experts.a.skills.t]\ntype='mcpStdioSkill'\ncommand='npx'\npackageName='y'"), nil},
		"a program":               {skillWith("mcpStdioSkill", "command='./server'"), nil},
		"another base skill":      {"perstackBaseSkillCommand=['./base']\n" + expertWith(""), nil},
		"a package for it":        {"perstackBaseSkillCommand=['npx','x']\n" + expertWith("delegates=['b']\n[experts.b]\ndescription='x'\ninstruction='x'"), nil},
		"a package of uvx for it": {"perstackBaseSkillCommand=['uvx','x']\n" + expertWith("delegates=['b']\n[experts.b]\ndescription='x'\ninstruction='x'"), []string{"1:1: perstackBaseSkillCommand: " + python}},
		"a server":                {skillWith("mcpHttpSkill", "endpoint='https://a.example/x'"), nil},
		"with the port":           {skillWith("mcpSseSkill", "endpoint='https://a.example:443/x'"), nil},
		"another port":            {skillWith("mcpHttpSkill", "endpoint='https://a.example:8443/x'"), []string{"5:1: experts.a.skills.s.endpoint: " + no + "its proxy connects to port 443 only" + advice}},
		"an address":              {skillWith("mcpHttpSkill", "endpoint='https://93.184.216.34/x'"), []string{"5:1: experts.a.skills.s.endpoint: " + no + "its proxy connects to names, not to addresses" + advice}},
		"an address as number":    {skillWith("mcpHttpSkill", "endpoint='https://0x5DB8D822/x'"), []string{"5:1: experts.a.skills.s.endpoint: " + no + "its proxy connects to names, not to addresses" + advice}},
		"an IPv6 address":         {skillWith("mcpHttpSkill", "endpoint='https://[2606:4700::1]/x'"), []string{"5:1: experts.a.skills.s.endpoint: " + no + "its proxy connects to names, not to addresses" + advice}},
		"this machine":            {skillWith("mcpHttpSkill", "endpoint='http://localhost:3000'\nallowPrivateEndpoint=true"), []string{"6:1: experts.a.skills.s.allowPrivateEndpoint: " + no + "in a container, this machine is the container itself" + advice}},
		"a private address":       {skillWith("mcpHttpSkill", "endpoint='https://10.0.0.1'\nallowPrivateEndpoint=true"), []string{"6:1: experts.a.skills.s.allowPrivateEndpoint: " + no + "its proxy does not connect to private addresses" + advice}},
		"one that may be private": {skillWith("mcpHttpSkill", "endpoint='https://a.example'\nallowPrivateEndpoint=true"), []string{"6:1: experts.a.skills.s.allowPrivateEndpoint: " + no + "its proxy does not connect to private addresses, which allowPrivateEndpoint permits" + advice}},
		"an underscore":           {skillWith("mcpHttpSkill", "endpoint='https://a_b.example/x'"), []string{"5:1: experts.a.skills.s.endpoint: " + no + names + advice}},
		"punycode":                {skillWith("mcpSseSkill", "endpoint='https://xn--bcher-kva.example/x'"), []string{"5:1: experts.a.skills.s.endpoint: " + no + names + advice}},
		"private names": {base("allowedDomains=['a.example','intranet','x.localhost','*.local','db.internal','*.LAN','*.home.arpa','*.a.com']"), []string{
			`5:1: warning: experts.a.skills."@perstack/base".allowedDomains.1: "intranet" never matches with runtime docker, where only public names can be reached`,
			`5:1: warning: experts.a.skills."@perstack/base".allowedDomains.2: "x.localhost" never matches with runtime docker, where only public names can be reached`,
			`5:1: warning: experts.a.skills."@perstack/base".allowedDomains.3: "*.local" never matches with runtime docker, where only public names can be reached`,
			`5:1: warning: experts.a.skills."@perstack/base".allowedDomains.4: "db.internal" never matches with runtime docker, where only public names can be reached`,
			`5:1: warning: experts.a.skills."@perstack/base".allowedDomains.5: "*.LAN" never matches with runtime docker, where only public names can be reached`,
			`5:1: warning: experts.a.skills."@perstack/base".allowedDomains.6: "*.home.arpa" never matches with runtime docker, where only public names can be reached`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := check(t, tt.text)
			var got []string
			for _, l := range lines(c.Unsupported(c.Experts[0], job.Settings{Provider: "replay", Runtime: job.Docker})) {
				got = append(got, strings.TrimPrefix(l, "p.toml:"))
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
			for _, p := range c.Unsupported(c.Experts[0], job.Settings{Provider: "replay", Runtime: "local"}) {
				if !p.Warning {
					t.Errorf("refused without isolation too: %v", p)
				}
			}
		})
	}
}
