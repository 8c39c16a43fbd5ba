package files

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/workspace/snapshot"
)

// Paths are meant as the shell shows them: relative to the working directory, through links to the
// workspace, and of links themselves.
func TestPaths(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	real, link := filepath.Join(top, "real"), filepath.Join(top, "link")
	if err := os.MkdirAll(filepath.Join(real, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Skip("this system makes no links")
	}
	if err := os.Symlink(top, filepath.Join(real, "out")); err != nil {
		t.Fatal(err)
	}
	for _, workspace := range []string{real, link} {
		for _, dir := range []string{real, link} {
			h := &host.Host{Dir: dir}
			for arg, want := range map[string]string{
				"a": "a", "sub/../b": "b", "gone/deep/file": "gone/deep/file", "sub": "sub", "out": "out",
				filepath.Join(real, "sub", "x"): "sub/x", filepath.Join(link, "sub", "x"): "sub/x",
			} {
				got, err := Paths(h, workspace, []string{arg})
				if err != nil || !slices.Equal(got, []string{want}) {
					t.Errorf("%s in %s: %q, %v, want %s", arg, workspace, got, err, want)
				}
			}
			for _, arg := range []string{"../x", top, "out/x", filepath.Join(top, "real2")} {
				if got, err := Paths(h, workspace, []string{arg}); host.ExitCode(err) != host.ExitUsage {
					t.Errorf("%s in %s: %q, %v", arg, workspace, got, err)
				}
			}
			if got, err := Paths(h, workspace, []string{"a", "."}); err != nil || len(got) != 0 {
				t.Errorf("everything in %s: %q, %v", workspace, got, err)
			}
		}
	}
}

// A line for each file; a directory only if nothing in it is shown. Names cannot act on a terminal.
func TestRows(t *testing.T) {
	file := &snapshot.Entry{Kind: snapshot.File}
	dir := &snapshot.Entry{Kind: snapshot.Directory}
	rows := Rows([]snapshot.Change{
		{Path: ".git/refs/perstack", Before: dir}, {Path: ".git/refs/perstack/kept", Before: dir}, {Path: ".git/refs/perstack/kept/j-1", Before: file},
		{Path: "empty", After: dir}, {Path: "made", After: dir}, {Path: "made/a\x1b[31m\nb", After: file}, {Path: "old", Before: file}, {Path: "same", Before: file, After: file},
	})
	var lines []string
	for _, r := range rows {
		lines = append(lines, r.String())
	}
	want := `A empty/|A $'made/a\033[31m\nb'|D old|M same`
	if got := strings.Join(lines, "|"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
