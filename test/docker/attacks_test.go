//go:build linux

package docker

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit/probe"
)

// A knownAttack is one of the two lists of attacks by skills, with all that proves that it
// fails: tries of the fixture and rows of the matrix, which run in the container, and tests
// elsewhere, each as package.Test.
type knownAttack struct {
	id, what string
	inside   bool     // TestNpmSkillsAttackOneAnother tries it under this id
	matrix   []string // rows of TestEgressMatrix
	tests    []string
}

var attacks = []knownAttack{
	{id: "E1", what: "secrets of the host's environment", matrix: []string{"environment"}, tests: []string{"internal/sandbox.TestEnvironmentSafe", "test/docker.TestNpmSkillsAttackOneAnother"}},
	{id: "E2", what: "another PATH, HOME, NODE_PATH", tests: []string{"internal/sandbox.TestEnvironmentExtra", "internal/skills/base.TestOwnDirectoriesAreFixed"}},
	{id: "E3", what: "variables that loaders and interpreters obey", tests: []string{"internal/sandbox.TestEnvironmentExtra", "internal/env.TestProtectedEnv"}},
	{id: "E4", what: "the same in other letters", tests: []string{"internal/sandbox.TestEnvironmentExtra", "internal/env.TestProtectedEnv"}},
	{id: "E5", what: "control: variables that were asked for", tests: []string{"internal/sandbox.TestEnvironmentExtra", "test/docker.TestSkillsAttackOneAnother"}},
	{id: "E6", what: "a safe name that sounds like a secret", tests: []string{"internal/sandbox.TestEnvironmentSafe"}},
	{id: "S1", what: "an endpoint of plain HTTP", tests: []string{"internal/netaddr.TestEndpointURL", "internal/egress.TestPlainHTTP"}},
	{id: "S2", what: "an endpoint on this machine", tests: []string{"internal/netaddr.TestEndpointURL", "internal/egress.TestAddressInTheURL"}},
	{id: "S3", what: "an endpoint in a private network", tests: []string{"internal/netaddr.TestAddrReach", "internal/egress.TestAddressInTheURL"}},
	{id: "S4", what: "control: public endpoints beside the private ranges", tests: []string{"internal/netaddr.TestAddrReach"}},
	{id: "S5", what: "an endpoint at a private address of IPv6", tests: []string{"internal/netaddr.TestAddrReach", "internal/egress.TestAddressInTheURL"}},
	{id: "S6", what: "an endpoint at an IPv4 address inside IPv6", tests: []string{"internal/netaddr.TestAddrReach", "internal/egress.TestAddressInTheURL"}},
	{id: "C1", what: "neither or both of packageName and args", tests: []string{"internal/manifest.TestCommandLine", "internal/manifest.TestSkillProblems"}},
	{id: "C2", what: "a package whose name is a command", tests: []string{"expert.TestPackageName", "internal/manifest.TestPackageRefused"}},
	{id: "C3", what: "a missing variable", tests: []string{"internal/skills.TestMissingEnv"}},
	{id: "C4", what: "a tool that was left out", tests: []string{"skill.TestOmittedIsNeverCalled"}},
	{id: "C5", what: "a tool that does not exist", tests: []string{"skill.TestToolboxRefuses"}},
	{id: "C6", what: "a file tool that returns something else", tests: []string{"internal/skills/base.TestForeignPassesOn"}},
	{id: "C7", what: "a start during a start", tests: []string{"internal/skills/mcp.TestSharedStart"}},
	{id: "C8", what: "a skill that fails to start, and one that fails to end", tests: []string{"internal/skills.TestFirstFailureStopsTheRest", "skill.TestStartFailureStopsOthers"}},
	{id: "C9", what: "questions of a delegate", tests: []string{"internal/skills.TestDelegatedCannotAsk"}},
	{id: "C10", what: "errors, nothing, and sounds as results", tests: []string{"internal/skills/mcp.TestConvert"}},
	{id: "D1", what: "a domain with port, scheme or stars", tests: []string{"internal/netaddr.TestDomainPattern"}},
	{id: "D2", what: "a domain in punycode", matrix: []string{"spell-punycode"}, tests: []string{"internal/netaddr.TestDomainPattern"}},
	{id: "D3", what: "a domain with a dot at its end", matrix: []string{"spell-dot", "spell-dot-blocked"}, tests: []string{"internal/netaddr.TestDomainPattern"}},
	{id: "D4", what: "plain HTTP, other ports, other methods, private addresses", matrix: []string{"http", "port-22", "post", "leads-private.test", "leads-metadata.test", "leads-six-loop.test", "leads-six-local.test"}, tests: []string{"internal/egress.TestProxyRefusesAddresses"}},
	{id: "D5", what: "a remote perstack.toml", tests: []string{"internal/cli/host.TestRemoteConfigRefused"}},
	{id: "D6", what: "a workspace that is none, or has a strange path", tests: []string{"test/docker.TestWorkspacePaths"}},
	{id: "X1", what: "the metadata of a cloud", inside: true, matrix: []string{"metadata", "http-metadata", "host-metadata-google"}},
	{id: "X2", what: "services of the host and of a cluster", inside: true, matrix: []string{"loopback", "host-tcp", "host-host-docker", "resolve-cluster"}},
	{id: "X3", what: "its own environment", inside: true, matrix: []string{"environment"}},
	{id: "X4", what: "keys and sockets", inside: true, matrix: []string{"shadow", "ssh", "aws", "socket"}},
	{id: "X5", what: "a link to the list of users", inside: true, matrix: []string{"link-passwd"}},
	{id: "X6", what: "a link to the list of passwords", inside: true, matrix: []string{"link-shadow"}},
	{id: "X7", what: "a link to the host", inside: true, matrix: []string{"link-host"}},
	{id: "X8", what: "a request past the proxy", inside: true, matrix: []string{"tcp-outside", "tcp-provider"}},
	{id: "X9", what: "names of variables", inside: true, matrix: []string{"environment"}},
	{id: "X10", what: "a secret sent to an untrusted host", inside: true, matrix: []string{"post", "host-attacker"}},
	{id: "X11", what: "control: a domain of its own list", inside: true, matrix: []string{"open"}},
	{id: "X12", what: "a domain that is not on its list", inside: true, matrix: []string{"host-unauthorised", "host-other-skill"}},
	{id: "X13", what: "data in a name", inside: true, matrix: []string{"host-exfiltration", "dns-docker-text"}},
	{id: "X14", what: "an environment sent away", inside: true, matrix: []string{"post"}},
	{id: "X15", what: "a command asks for hosts that are not on its list", matrix: []string{"host-blocked", "http", "http-blocked", "host-google", "host-other-skill"}},
	{id: "X16", what: "control: a command reaches its own list, and no longer the provider or the lists of skills", matrix: []string{"open", "wild", "host-provider", "host-other-skill"}},
	{id: "M1", what: "a skill has the runtime read a file for it", tests: []string{"internal/skills/base.TestForeignIsNotBelieved"}},
	{id: "M2", what: "a skill takes the name of a base tool", tests: []string{"skill.TestReservedNames"}},
	{id: "M3", what: "an endpoint in brackets", tests: []string{"internal/netaddr.TestEndpointURL", "internal/egress.TestAddressInTheURL"}},
	{id: "M4", what: "a name that leads to a private address, also later or elsewhere", matrix: []string{"leads-shared.test", "rebind"}, tests: []string{"internal/egress.TestNameThatResolves", "internal/egress.TestRedirectsWithinTheOrigin", "internal/egress.TestRebinding"}},
	{id: "M5", what: "a package that is an option of npx", tests: []string{"internal/manifest.TestPackageRefused", "expert.TestPackageName"}},
	{id: "M6", what: "the environment of the parent", inside: true, matrix: []string{"proc-environ"}, tests: []string{"internal/sandbox.TestSecretsUnreadable"}},
	{id: "M7", what: "variables that lead elsewhere, asked for", tests: []string{"internal/manifest.TestRefusedEnv", "internal/skills/base.TestExecCannotChangeWhatWasDecided"}},
	{id: "M8", what: "results of no kind, and a server that dies", tests: []string{"internal/skills/mcp.TestConvert", "internal/skills/mcp.TestRestart", "internal/skills/mcp.TestStaysDead"}},
	{id: "M9", what: "a call of a tool that was left out", tests: []string{"skill.TestOmittedIsNeverCalled"}},
	{id: "M10", what: "an endless line, a huge result, endless words", tests: []string{"internal/skills/mcp.TestEndlessLine", "internal/skills/mcp.TestFlood", "internal/skills/mcp.TestMemory"}},
	{id: "M11", what: "a skill of the lockfile that starts at its first call", tests: []string{"internal/skills.TestLockedStartsAtFirstUse"}},
	{id: "M12", what: "tools that have changed since the lockfile", tests: []string{"internal/skills.TestRugPull"}},
}

// TestAttacksByName finds for each attack of the lists what proves that it fails.
func TestAttacksByName(t *testing.T) {
	var want []string
	for _, list := range []struct {
		letter string
		most   int
	}{{"E", 6}, {"S", 6}, {"C", 10}, {"D", 6}, {"X", 16}, {"M", 12}} {
		for i := range list.most {
			want = append(want, fmt.Sprintf("%s%d", list.letter, i+1))
		}
	}
	var got []string
	tried := (&skillsProject{project: &project{}, tag: "tag"}).triedRows()
	rows := map[string]bool{}
	for _, group := range []string{probe.GroupContainer} {
		for _, r := range probe.Rows(probe.Config{Tag: "tag", Phase: "fresh", Group: group, Trap: "192.0.2.1", Web: "192.0.2.2", Sandboxes: true}) {
			rows[r.ID] = true
		}
	}
	for _, a := range attacks {
		got = append(got, a.id)
		if !a.inside && len(a.matrix) == 0 && len(a.tests) == 0 {
			t.Errorf("%s: nothing proves it", a.id)
		}
		if a.inside && !slices.Contains(tried, a.id) {
			t.Errorf("%s: TestNpmSkillsAttackOneAnother does not try it", a.id)
		}
		for _, id := range a.matrix {
			if !rows[id] {
				t.Errorf("%s: the matrix has no row %s", a.id, id)
			}
		}
		for _, name := range a.tests {
			if !hasTest(t, name) {
				t.Errorf("%s: there is no test %s", a.id, name)
			}
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the lists have\n%v\nand here are\n%v", want, got)
	}
}

// triedRows are the ids of what the fixture tries.
func (s *skillsProject) triedRows() (ids []string) {
	for _, a := range s.tries() {
		ids = append(ids, a.row)
	}
	return ids
}

// hasTest reports whether a package has a test.
func hasTest(t *testing.T, name string) bool {
	t.Helper()
	dir, test, _ := strings.Cut(name, ".Test")
	files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(dir), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	pattern := regexp.MustCompile(`(?m)^func Test` + test + `\(`)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if pattern.Match(data) {
			return true
		}
	}
	return false
}

// TestWorkspacePaths uses invalid workspaces, and one whose name would mean something
// else to a shell, to a file of YAML, or to the daemon.
func TestWorkspacePaths(t *testing.T) {
	t.Parallel()
	p := newProject(t, "", map[string]string{"perstack.toml": worker, "file": "x"})
	p.serve("[[turn]]\n" + command(t, "./probed", "append", "came", "here") + "[[turn]]\ntext = \"Done.\"\n")
	for _, bad := range []string{"nowhere", "file", "nowhere/../../nowhere"} {
		out := p.run("worker", "go", "--job-id", p.job(), "--workspace", bad)
		if out.code == 0 || ranInContainer(out.events) {
			t.Errorf("the workspace %s: exit code %d\n%s", bad, out.code, out.stderr)
		}
	}
	odd := "a;b $HOME `id` c:d,e=f'g\nh\\i"
	program := p.read("probed")
	p.write(filepath.Join(odd, "probed"), program, 0o755)
	p.run("worker", "go", "--job-id", p.job(), "--workspace", odd).must(t, 0)
	if got := string(p.read(filepath.Join(odd, "came"))); got != "here\n" {
		t.Errorf("in the workspace is %q", got)
	}
}
