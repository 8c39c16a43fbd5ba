// Package paths lists the paths of a workspace that a user can mention in an input. It goes through
// internal/workspace, so it follows no link and shows nothing that tools cannot reach. Start reading at
// [Scan].
package paths

import (
	"context"
	"strings"

	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/workspace"
)

// Limit is how many entries of a workspace are looked at.
const Limit = 20_000

// A List is the paths of a workspace.
type List struct {
	Paths []string // with slashes; that of a directory ends in one
	Cut   bool     // there are more
}

// Scan lists the files and directories of a workspace. It leaves out .git, what .gitignore files name,
// links, pipes and devices, and names that cannot be typed on a terminal. It takes time, so it must not
// be called where keys are waited for.
func Scan(ctx context.Context, w *workspace.Workspace) (List, error) { return scan(ctx, w, Limit) }

func scan(ctx context.Context, w *workspace.Workspace, limit int) (list List, err error) {
	seen := 0
	leftOut, err := w.Find(ctx, ".", false, func(f workspace.Found) bool {
		if seen++; seen > limit {
			list.Cut = true
			return false
		}
		switch {
		case terminal.Clean(f.Path) != f.Path || strings.ContainsAny(f.Path, "\n\t"):
		case f.Dir:
			list.Paths = append(list.Paths, f.Path+"/")
		case f.Regular:
			list.Paths = append(list.Paths, f.Path)
		}
		return true
	})
	list.Cut = list.Cut || leftOut != ""
	return list, err
}
