package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/userfile"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/internal/workspace"
)

// manifest checks that perstack.toml can be read. perstack validate says more.
func (x *examination) manifest() []Check {
	p := x.project()
	c := Check{ID: "project", Title: "perstack.toml", Status: OK, Detail: p.path}
	switch errs := p.problems.Err(); {
	case errors.Is(p.err, manifest.ErrNotFound):
		c.Status, c.Detail = Info, "there is none in this directory or a parent"
	case p.err != nil:
		c.Status, c.Detail, c.Fix = Fail, p.err.Error(), "fix it or remove it"
	case errs != nil:
		first, _, more := strings.Cut(errs.Error(), "\n")
		if c.Status, c.Detail = Fail, first; more {
			c.Detail += " (and more)"
		}
		c.Fix = "run: perstack validate"
	case len(p.problems.Warnings()) > 0:
		c.Status, c.Fix = Warn, "run: perstack validate"
		c.Detail += ": " + wording.Count(len(p.problems.Warnings()), "warning")
	case p.config != nil:
		c.Detail += ": " + wording.Count(len(p.config.Experts), "Expert")
	}
	return []Check{c}
}

const (
	maxIgnoreFile = 256 << 10
	maxDepth      = 100 // directories above the project that are looked at
)

// envFiles checks that git ignores the env files of the project. It reads the files with rules and
// not the index: whether git tracks a file already is not known.
func (x *examination) envFiles(ctx context.Context) []Check {
	c := Check{ID: "files.env", Title: "env files", Status: Info, Detail: "there are none"}
	var exposed, ignored, outside []string
	for _, f := range manifest.EnvFiles(x.host.Dir, x.host.Home, nil, x.project().config) {
		if _, err := os.Stat(f.Path); err != nil {
			continue
		}
		repository, ok := repositoryOf(filepath.Dir(f.Path))
		if !ok {
			outside = append(outside, f.Path)
			continue
		}
		yes, err := x.gitIgnores(ctx, repository, f.Path)
		if err != nil {
			return []Check{{ID: c.ID, Title: c.Title, Status: Warn, Detail: "whether git ignores " + f.Path + " is not known: " + err.Error()}}
		}
		if yes {
			ignored = append(ignored, filepath.Base(f.Path))
		} else {
			exposed = append(exposed, f.Path)
		}
	}
	switch {
	case len(exposed) > 0:
		c.Status, c.Detail = Fail, "git does not ignore "+strings.Join(exposed, ", ")+", so a commit can publish the keys in it"
		c.Fix = fmt.Sprintf("echo %s >>%s", terminal.ShellJoin(filepath.Base(exposed[0])), terminal.ShellJoin(filepath.Join(filepath.Dir(exposed[0]), ".gitignore")))
	case len(ignored) > 0:
		c.Status, c.Detail = OK, "git ignores "+strings.Join(ignored, ", ")
	case len(outside) > 0:
		c.Detail = strings.Join(outside, ", ") + ", in no git repository"
	}
	return []Check{c}
}

// repositoryOf finds the directory of the git repository that a directory is in.
func repositoryOf(dir string) (string, bool) {
	for range maxDepth {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir, true
		}
		if dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	return "", false
}

// gitIgnores reports whether git ignores a file of a repository, by the .gitignore files, by
// .git/info/exclude and by the user's own ignore file in its usual place.
func (x *examination) gitIgnores(ctx context.Context, repository, file string) (bool, error) {
	path, err := filepath.Rel(repository, file)
	if err != nil {
		return false, err
	}
	read := func(path string) []byte {
		text, err := userfile.Read(path, maxIgnoreFile)
		if err != nil {
			return nil // it does not exist, or git does not read it either
		}
		return append(text, '\n')
	}
	return workspace.Ignored(ctx, filepath.ToSlash(path), func(dir string) []byte {
		own := read(filepath.Join(repository, filepath.FromSlash(dir), ".gitignore"))
		if dir != "" {
			return own
		}
		return append(append(read(x.userIgnoreFile()), read(filepath.Join(repository, ".git", "info", "exclude"))...), own...)
	})
}

func (x *examination) userIgnoreFile() string {
	if dir := x.host.Getenv("XDG_CONFIG_HOME"); dir != "" {
		return filepath.Join(dir, "git", "ignore")
	}
	return filepath.Join(x.host.Home, ".config", "git", "ignore")
}
