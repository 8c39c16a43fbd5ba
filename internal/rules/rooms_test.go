package rules

import (
	"fmt"
	"slices"
	"strings"
)

// A room is a package, or a package and all below it, with the packages of this module
// that it may import. What lies below a package it may always import.
type room struct {
	packages string
	may      string
}

// rooms is the plan of the house, from the cellar up. The first line that names a
// package counts.
var rooms = []room{
	// What is known. These two import nothing of ours, so that everything may import them.
	{"event", ""},
	{"expert", ""},

	// What guards the machine. Nothing here knows of models, skills or runs.
	{"internal/version", ""},
	{"internal/secret", ""},   // what must not be seen,
	{"internal/terminal", ""}, // and what must not act
	{"internal/workspace", ""},
	{"internal/owner", ""},    // which process something belongs to, and whether it lives
	{"internal/userfile", ""}, // reads files that the user named
	{"internal/wording", ""},  // words of messages: quoted text, lists, what was probably meant
	{"internal/netaddr", "internal/wording"},
	{"internal/env", "internal/userfile"},
	{"internal/toml", "internal/wording"},
	{"internal/egress", "event expert internal/netaddr"},
	{"internal/egress/squid", "expert internal/egress internal/netaddr"},
	{"internal/sandbox/...", "event expert internal/egress internal/env internal/sandbox/landlock"},

	// What the files of a project say.
	{"internal/manifest", "expert model internal/env internal/netaddr internal/toml internal/userfile internal/wording"},
	{"internal/lockfile", "expert internal/manifest internal/toml internal/userfile internal/wording"},

	{"internal/packages", "expert internal/lockfile internal/sandbox"},

	// Who thinks, what can be done, where history lives. They do not know each other.
	{"model", "event expert internal/wording"},
	{"internal/providers/modeltest", "event expert model internal/providers/... internal/testkit/..."}, // made for tests
	{"internal/providers/wire/wiretest", "event model"},                                                // made for tests
	{"internal/providers", "event expert model internal/manifest internal/netaddr internal/userfile internal/wording"},
	{"internal/providers/...", "event expert model internal/providers/wire internal/providers/replay/turns internal/version internal/netaddr internal/userfile"},
	{"skill", "event expert internal/terminal"},
	{"internal/skills", "event expert skill internal/env internal/lockfile internal/terminal internal/owner internal/workspace internal/packages internal/sandbox internal/sandbox/landlock internal/egress"},
	{"internal/skills/mcp/serve", "event expert skill internal/skills/mcp/frame internal/version internal/terminal internal/workspace internal/sandbox internal/egress"},
	{"internal/skills/...", "event expert skill internal/lockfile internal/version internal/terminal internal/workspace internal/sandbox internal/sandbox/landlock internal/egress"},
	{"store", "event expert"},
	{"store/...", "event expert store internal/owner"},

	// How an Expert runs: with interfaces only, never with a provider or a back end.
	{"engine", "event expert model skill store"},

	// Where it runs. A runtime puts the parts together; runtimes do not know each other.
	{"internal/runtimes/...", "event expert model skill store/... engine internal/providers/... internal/skills/... internal/runtimes internal/lockfile internal/manifest " +
		"internal/version internal/secret internal/terminal internal/owner internal/workspace internal/packages internal/sandbox/... internal/egress"},

	// Where Experts are shared.
	{"registry", "event expert internal/version internal/egress"},
	{"registry/...", "event expert registry/... internal/version internal/egress"},

	// Who uses it: terminals, commands, programs.
	{"internal/tui/...", "event expert model skill store engine internal/runtimes internal/tui/... internal/version internal/terminal"},
	{"internal/cli/...", "event expert model skill store/... engine internal/providers/... internal/skills/... registry/... internal/cli/... internal/tui/... " +
		"internal/env internal/lockfile internal/manifest internal/netaddr internal/toml " +
		"internal/runtimes/... internal/version internal/secret internal/terminal internal/workspace internal/packages internal/sandbox/... internal/egress/..."},
	{".", "event expert model skill store/... engine internal/providers/... internal/skills/... internal/runtimes/... internal/sandbox internal/packages internal/version internal/secret internal/lockfile internal/manifest"},
	{"cmd/...", "internal/cli/... internal/sandbox"}, // it shields itself before anything else,

	// Who checks it.
	{"internal/rules", ""},
	{"internal/testkit/...", "..."},
	{"test/...", "..."},
	{"bench/...", "..."},
	{"examples/...", "..."},
}

// forTests names packages outside _test.go files that are made for tests.
const forTests = "internal/testkit/... store/storetest internal/providers/modeltest internal/providers/wire/wiretest test/... bench/..."

func findRoom(dir string) (room, bool) {
	for _, r := range rooms {
		if matches(r.packages, dir) {
			return r, true
		}
	}
	return room{}, false
}

func forbiddenArrows(t *tree) (found []finding) {
	for _, f := range t.sources(false) {
		room, ok := findRoom(f.dir)
		if !ok {
			found = append(found, f.at(f.syntax.Name, "%s is a room that the plan does not know", f.dir))
			continue
		}
		for _, i := range f.imports {
			dir, ours := ownDir(i.path)
			if ours && !matches(room.may, dir) && !strings.HasPrefix(dir, f.dir+"/") {
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
