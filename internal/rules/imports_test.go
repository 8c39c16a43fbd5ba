package rules

import (
	"fmt"
	"slices"
	"strings"
)

// An arrow starts at a package, or a package and all below it, with the packages of this module
// that it may import. A package may always import those below it.
type arrow struct {
	packages string
	may      string
}

// values are the packages that describe things. Everything above them may import them.
const values = "rawjson expert event job "

// arrows lists who may import whom, from the bottom up. The first row that names a
// package counts.
var arrows = []arrow{
	{"rawjson", ""},
	{"internal/skills/base/prompt", ""}, // the texts and names of the base tools
	{"expert", "rawjson"},
	{"event", "rawjson"},
	{"job", "rawjson expert event"},

	// Small things that stand alone. None of them knows of models, skills or runs.
	{"internal/version", ""},
	{"internal/secret", ""},
	{"internal/terminal", ""},
	{"internal/columns", ""},
	{"internal/jq", ""},
	{"internal/markdown", "internal/columns internal/terminal"},
	{"internal/filename", ""},
	{"internal/filelock", ""},
	{"internal/opendir", ""},
	{"internal/stopwatch", ""},
	{"internal/textdiff", ""},
	{"internal/workspace", "internal/filename internal/opendir internal/wording"},
	{"internal/workspace/snapshot", "internal/filelock internal/opendir internal/workspace"},
	{"internal/workspace/rewind", "internal/opendir internal/textdiff internal/workspace internal/workspace/snapshot"},
	{"internal/owner", ""},
	{"internal/privatefile", ""},
	{"internal/userfile", ""},
	{"internal/process", ""},
	{"internal/wording", ""},
	{"internal/schema", "rawjson internal/wording"},
	{"internal/netaddr", "internal/wording"},
	{"internal/env", "internal/userfile"},
	{"internal/state", "internal/privatefile internal/terminal internal/userfile"},
	{"internal/inputs", "internal/filelock internal/opendir internal/privatefile internal/secret internal/userfile"},
	{"internal/toml", "internal/wording"},
	{"internal/protect", "internal/owner internal/privatefile internal/state internal/terminal internal/userfile internal/workspace"},
	{"internal/attachment", values + "internal/userfile internal/wording internal/workspace"},
	{"internal/egress", "event expert internal/netaddr"},
	{"internal/egress/squid", "expert internal/egress internal/netaddr"},
	{"internal/egress/server", "internal/egress/... internal/sandbox internal/sandbox/policy internal/secret internal/terminal"},
	{"internal/sandbox/probe", "expert internal/privatefile internal/sandbox/landlock internal/userfile"}, // its cache is a private file of the user
	{"internal/sandbox/selfcheck", ""},
	{"internal/sandbox/...", "event expert internal/egress internal/env internal/filelock internal/filename internal/stopwatch internal/userfile internal/wording internal/sandbox/landlock internal/sandbox/disk internal/sandbox/policy internal/sandbox/space internal/sandbox/probe internal/sandbox/selfcheck"},
	{"internal/credentials", "internal/filelock internal/netaddr internal/opendir internal/privatefile internal/sandbox internal/sandbox/policy internal/terminal internal/userfile"}, // its helpers are programs
	{"internal/narrate", values + "model internal/wording"},
	{"internal/approval", values + "internal/terminal internal/wording"},
	{"internal/approval/grants", "rawjson internal/filelock internal/opendir internal/privatefile internal/toml internal/userfile"},

	// The interfaces. They do not know each other.
	{"model", "rawjson event expert internal/wording"},
	{"skill", "rawjson event expert internal/schema internal/skills/base/prompt internal/terminal internal/wording"},
	{"store", "rawjson event expert"},
	{"store/...", "rawjson event expert store internal/filelock internal/owner"},

	// What the files of a project say.
	{"internal/manifest", values + "model internal/approval internal/env internal/netaddr internal/skills/base/prompt internal/toml internal/userfile internal/version internal/wording"},
	{"internal/programs", "internal/userfile internal/wording internal/workspace"},
	{"internal/lockfile", values + "internal/manifest internal/programs internal/toml internal/userfile internal/wording"},
	{"internal/packages", values + "internal/egress internal/lockfile internal/programs internal/sandbox internal/sandbox/landlock internal/sandbox/policy internal/userfile internal/wording"},

	// The registry: what is published, and what its log proves.
	{"internal/registry/definition", "expert internal/manifest internal/toml internal/wording"},
	{"internal/registry/tlog", ""},
	{"internal/registry/api", "internal/registry/tlog"},
	{"internal/registry/signature", "internal/terminal internal/userfile"},
	{"internal/registry/server", "expert internal/registry/api internal/registry/definition internal/registry/review internal/registry/server/database internal/registry/signature internal/registry/tlog"},
	{"internal/registry/server/database", ""},
	{"internal/registry/witness", "internal/filelock internal/opendir internal/privatefile internal/registry/tlog internal/userfile"},
	{"internal/registry/web", "expert internal/columns internal/markdown internal/registry/api internal/registry/card internal/registry/definition internal/registry/server internal/registry/tlog internal/textdiff"},
	{"internal/registry/builds", "internal/registry/server"},
	{"internal/registry/httpapi", "expert internal/registry/api internal/registry/builds internal/registry/card internal/registry/definition internal/registry/server internal/registry/tlog internal/wording"},
	{"internal/registry/card", "expert internal/registry/definition"},
	{"internal/registry/review", "expert model internal/registry/card internal/registry/definition internal/terminal internal/wording"},
	{"internal/registry/trust", "internal/filelock internal/opendir internal/privatefile internal/registry/definition internal/userfile"},
	{"internal/registry/client", "expert internal/netaddr internal/registry/api internal/registry/definition internal/registry/review internal/registry/signature internal/registry/tlog internal/registry/trust internal/wording"},
	{"internal/registry/oci", "expert internal/netaddr internal/registry/api internal/registry/client internal/registry/definition internal/registry/review internal/registry/signature internal/registry/tlog internal/registry/trust internal/wording"},
	{"internal/registry/scopes", "expert internal/filelock internal/manifest internal/netaddr internal/opendir internal/privatefile internal/registry/signature internal/registry/tlog internal/userfile internal/wording"},
	{"internal/registry/resolve", "expert internal/filelock internal/opendir internal/privatefile internal/registry/api internal/registry/card internal/registry/client internal/registry/definition internal/registry/scopes internal/userfile"},

	{"internal/consent", values + "model internal/approval internal/env internal/lockfile internal/manifest internal/programs internal/privatefile internal/providers internal/toml internal/userfile internal/wording"},

	// How an Expert runs: with interfaces only, never with a provider or a back end.
	{"engine", values + "model skill store"},

	{"internal/approval/calls", values + "engine internal/approval internal/lockfile internal/sandbox internal/textdiff internal/userfile internal/workspace"},

	// Providers and skills.
	{"internal/providers/modeltest", values + "model internal/providers/... internal/testkit/..."}, // made for tests
	{"internal/providers/wire/wiretest", values + "model"},                                         // made for tests
	{"internal/providers", values + "model internal/manifest internal/netaddr internal/userfile internal/wording"},
	{"internal/providers/...", values + "model internal/providers/wire internal/providers/replay/turns internal/version internal/netaddr internal/terminal internal/toml internal/userfile internal/wording"},
	{"internal/skills", values + "engine skill internal/env internal/lockfile internal/programs internal/terminal internal/owner internal/workspace internal/packages internal/sandbox internal/sandbox/landlock internal/sandbox/policy internal/stopwatch internal/userfile internal/egress"},
	{"internal/skills/mcp/serve", values + "skill internal/skills/mcp/frame internal/version internal/terminal internal/wording internal/workspace internal/sandbox internal/egress"},
	{"internal/skills/...", values + "skill internal/attachment internal/lockfile internal/schema internal/version internal/stopwatch internal/terminal internal/wording internal/workspace internal/sandbox internal/sandbox/landlock internal/sandbox/policy internal/egress"},

	// Files go back to what a journal says.
	{"internal/history", values + "engine model store/..."},
	{"internal/restore", values + "engine store/... internal/filelock internal/filename internal/history internal/opendir internal/runtimes internal/state internal/userfile internal/wording internal/workspace/..."},

	{"internal/jobarchive", "event store/... internal/restore internal/workspace/snapshot"},

	// Where an Expert runs. Runtimes do not know each other. The program in a container is a
	// process of its own, with a proxy or an engine.
	{"internal/runtimes/docker/inside", values + "model engine internal/providers internal/runtimes internal/runtimes/docker/hostlink " +
		"internal/process internal/secret internal/terminal internal/sandbox/... internal/egress/server"},
	{"internal/runtimes/...", values + "model skill store/... engine internal/providers/... internal/skills/... internal/runtimes internal/approval/... internal/attachment internal/lockfile internal/manifest internal/netaddr " +
		"internal/version internal/restore internal/secret internal/terminal internal/owner internal/userfile internal/wording internal/workspace/... internal/packages internal/sandbox/... internal/egress"},

	// A security audit.
	{"internal/audit", "internal/terminal internal/userfile internal/wording"},
	// It attacks what jobs use, through the same functions.
	{"internal/audit/probes", values + ". engine model skill store/... internal/audit internal/consent internal/egress internal/env internal/manifest internal/netaddr internal/programs internal/protect " +
		"internal/providers internal/providers/wire internal/runtimes/docker internal/sandbox/... internal/secret internal/skills/mcp internal/state internal/terminal internal/userfile internal/workspace/..."},

	// Jobs of another program.
	{"internal/original", values + "store internal/secret internal/userfile"},

	// The API, and the commands that use it.
	{".", values + "model skill store/... engine internal/attachment internal/providers internal/restore internal/runtimes/... internal/sandbox internal/version internal/secret internal/lockfile internal/manifest"},
	// The parts of the terminal program. They do no I/O, but for the scan of a workspace.
	{"internal/tui/paint", "internal/columns internal/markdown"},
	{"internal/tui/match", ""},
	{"internal/tui/paths", "internal/terminal internal/workspace"},
	{"internal/tui/edit", "internal/columns internal/terminal internal/tui/match internal/tui/paint internal/wording"},
	{"internal/tui/list", "internal/tui/paint"},
	{"internal/tui/mention", "internal/columns internal/tui/paint"},
	{"internal/tui/pager", "internal/tui/match internal/tui/paint"},
	{"internal/tui/guard", "internal/process internal/sandbox internal/terminal"}, // it starts perstack again

	// The same program with lines only. It prints rows as the other commands do.
	{"internal/tui/plain", values + "engine internal/tui internal/cli/lines internal/narrate internal/approval internal/terminal internal/wording"},

	{"internal/cli/...", values + ". model skill store/... engine internal/providers/... internal/skills/... internal/cli/... internal/history internal/jobarchive internal/inputs internal/jq internal/narrate " +
		"internal/approval/... internal/attachment internal/audit/... internal/consent internal/credentials internal/env internal/lockfile internal/manifest internal/netaddr internal/original internal/owner internal/process internal/programs internal/protect internal/registry/api internal/registry/card internal/registry/client internal/registry/definition internal/registry/oci internal/registry/resolve internal/registry/review internal/registry/scopes internal/registry/signature internal/registry/trust internal/restore internal/schema internal/state internal/textdiff internal/toml internal/userfile internal/wording " +
		"internal/runtimes/... internal/version internal/secret internal/columns internal/markdown internal/terminal internal/tui/... internal/workspace/... internal/packages internal/sandbox/... internal/egress/..."},
	// The full-screen program.
	{"internal/tui/...", values + "engine internal/tui/... internal/narrate internal/approval internal/columns internal/markdown internal/terminal internal/wording internal/sandbox internal/workspace internal/state internal/privatefile internal/secret"},
	// The program for servers. Its commands end and speak as those of perstack do.
	{"internal/daemon/...", "event internal/daemon/... internal/cli/host internal/egress internal/privatefile internal/process internal/registry/api internal/registry/builds internal/registry/httpapi internal/registry/server internal/registry/server/database internal/registry/tlog internal/registry/web internal/registry/witness internal/state internal/terminal internal/userfile internal/version internal/wording"},
	{"cmd/...", ". internal/cli/... internal/daemon internal/process internal/sandbox internal/sandbox/hostile"}, // main hardens the process before anything else

	// Tests.
	{"internal/rules", ""},
	{"internal/testkit/...", "..."},
	{"test/...", "..."},
	{"bench/...", "..."},
	{"examples/...", "..."},
}

// forTests names packages outside _test.go files that are made for tests.
const forTests = "internal/testkit/... store/storetest internal/providers/modeltest internal/providers/wire/wiretest test/... bench/..."

func findArrow(dir string) (arrow, bool) {
	for _, r := range arrows {
		if matches(r.packages, dir) {
			return r, true
		}
	}
	return arrow{}, false
}

func forbiddenArrows(t *tree) (found []finding) {
	for _, f := range t.sources(false) {
		from, ok := findArrow(f.dir)
		if !ok {
			found = append(found, f.at(f.syntax.Name, "%s is not in the table of imports", f.dir))
			continue
		}
		for _, i := range f.imports {
			dir, ours := ownDir(i.path)
			if ours && !matches(from.may, dir) && !strings.HasPrefix(dir, f.dir+"/") {
				found = append(found, finding{f.path, i.line, fmt.Sprintf("%s must not import %s", f.dir, dir)})
			}
		}
	}
	return found
}

// program lists the files that a user runs: no tests, and no packages made for them.
func (t *tree) program() []*source {
	return slices.DeleteFunc(t.sources(false), func(f *source) bool { return matches(forTests, f.dir) })
}

func testPackagesInProgram(t *tree) (found []finding) {
	for _, f := range t.program() {
		for _, i := range f.imports {
			dir, ours := ownDir(i.path)
			if ours && matches(forTests, dir) || matches("testing/...", i.path) {
				found = append(found, finding{f.path, i.line, i.path + " is imported by a file that is not a test"})
			}
		}
	}
	return found
}

// ownDir turns an import path of this module into a directory.
func ownDir(target string) (string, bool) {
	if target == module {
		return ".", true
	}
	return strings.CutPrefix(target, module+"/")
}
