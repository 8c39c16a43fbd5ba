package doctor

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/internal/terminal"
)

// copies looks for other programs called perstack in PATH. Which version they have is not known
// without running them.
func (x *examination) copies() []Check {
	c := Check{ID: "program", Title: "program", Status: OK}
	own, err := x.opts.Executable()
	if err != nil {
		c.Status, c.Detail = Warn, "the path of this program is not known: "+err.Error()
		return []Check{c}
	}
	c.Detail = own
	found := inPath(x.host.Getenv("PATH"))
	var others []string
	for _, path := range found {
		if !sameFile(path, own) {
			others = append(others, path)
		}
	}
	if len(others) > 0 {
		c.Status = Warn
		c.Detail = own + "; PATH also has " + strings.Join(others, ", ")
		c.Fix = "remove the copies that you do not use: " + terminal.ShellJoin(others...)
		if !sameFile(found[0], own) {
			c.Detail += ", and the shell starts " + found[0]
		}
	}
	return []Check{c}
}

// inPath lists the programs called perstack in a PATH, each once.
func inPath(list string) (found []string) {
	name := "perstack"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	for _, dir := range filepath.SplitList(list) {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() || runtime.GOOS != "windows" && info.Mode().Perm()&0o111 == 0 || !filepath.IsAbs(dir) {
			continue
		}
		if !slices.ContainsFunc(found, func(other string) bool { return sameFile(path, other) }) {
			found = append(found, path)
		}
	}
	return found
}

func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}
