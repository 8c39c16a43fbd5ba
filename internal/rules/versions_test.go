package rules

import (
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// oldest are the oldest versions that we accept of libraries that others bring along, and why.
var oldest = map[string]struct{ version, why string }{
	"github.com/mattn/go-runewidth": {"v0.0.28", "an older one makes tables of characters at each start of perstack, which takes 42 ms"},
}

func oldLibraries(t *tree) (found []finding) {
	data, err := fs.ReadFile(t.fsys, "go.mod")
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a tree of a test
	}
	if err != nil {
		return []finding{{"go.mod", 1, err.Error()}}
	}
	file, err := modfile.Parse("go.mod", data, nil)
	if err != nil {
		return []finding{{"go.mod", 1, err.Error()}}
	}
	for _, r := range file.Require {
		if o, ok := oldest[r.Mod.Path]; ok && semver.Compare(r.Mod.Version, o.version) < 0 {
			found = append(found, finding{"go.mod", r.Syntax.Start.Line, fmt.Sprintf("%s %s is older than %s: %s", r.Mod.Path, r.Mod.Version, o.version, o.why)})
		}
	}
	return found
}
