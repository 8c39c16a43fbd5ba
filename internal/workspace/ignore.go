package workspace

import (
	"bytes"
	"context"
	"strings"
)

const (
	ignoreName = ".gitignore"
	// maxIgnoreFile bounds a .gitignore file. A longer one is not read.
	maxIgnoreFile = 256 << 10
	// maxIgnoreFiles bounds the .gitignore files whose rules a search has in memory: those of a
	// directory and of all above it. A byte of them can need 40 bytes.
	maxIgnoreFiles = 1 << 20
)

// An ignoreRule is one line of a .gitignore file.
type ignoreRule struct {
	pattern
	negated bool // what matches is not ignored
}

// parseIgnore reads the lines of a .gitignore file as git does.
func parseIgnore(data []byte) []ignoreRule {
	var rules []ignoreRule
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		if line == "" || line[0] == '#' {
			continue
		}
		line, negated := strings.CutPrefix(trimSpaces(line), "!")
		rules = append(rules, ignoreRule{parsePattern(line), negated})
	}
	return rules
}

// trimSpaces removes the spaces at the end of a line, except behind a backslash.
func trimSpaces(line string) string {
	end := 0 // behind the last character that stays
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case ' ':
			continue
		case '\\':
			if i++; i == len(line) {
				return line
			}
		}
		end = i + 1
	}
	return line[:end]
}

// An ignoreDir is the rules of one directory on the way to a path.
type ignoreDir struct {
	rules []ignoreRule
	from  int // where paths relative to the directory begin
}

// ignores decides about a path from the root of the workspace, whose directories are not
// ignored. The deepest directory with a rule for it decides, and of its rules the last one.
// It fails when ctx ends.
func ignores(ctx context.Context, dirs []ignoreDir, path string, isDir bool) (bool, error) {
	stop := func() bool { return ctx.Err() != nil }
	for i := len(dirs) - 1; i >= 0; i-- {
		rules := dirs[i].rules
		for j := len(rules) - 1; j >= 0; j-- {
			matches := rules[j].matches(path[dirs[i].from:], isDir, stop)
			if err := ctx.Err(); err != nil {
				return false, err
			}
			if matches {
				return !rules[j].negated, nil
			}
		}
	}
	return false, nil
}

// Ignored reports whether git ignores a file that it does not track. path is that of the file in
// its repository, with slashes. rules returns the text of the .gitignore file of a directory, which
// is "" for that of the repository and else ends in a slash; other files with such rules can come
// before it in the same text.
func Ignored(ctx context.Context, path string, rules func(dir string) []byte) (bool, error) {
	dirs := []ignoreDir{{rules: parseIgnore(rules(""))}}
	for i, c := range path {
		if c != '/' {
			continue
		}
		if ignored, err := ignores(ctx, dirs, path[:i], true); ignored || err != nil {
			return ignored, err
		}
		dirs = append(dirs, ignoreDir{rules: parseIgnore(rules(path[:i+1])), from: i + 1})
	}
	return ignores(ctx, dirs, path, false)
}

// ignoreFile reads the .gitignore file in the directory of the location. One that tools cannot
// read, or a link, counts as empty.
func (p *location) ignoreFile(ctx context.Context) []byte {
	info, err := p.dir().Lstat(ignoreName)
	if err != nil || !info.Mode().IsRegular() || p.refuse(ignoreName, info) != nil {
		return nil
	}
	at := *p
	at.name, at.info = ignoreName, info
	f, _, err := at.open(ctx)
	if err != nil {
		return nil
	}
	defer f.Close()
	data, err := readAll(ctx, f, ignoreName, info.Size(), maxIgnoreFile)
	if err != nil {
		return nil
	}
	return data
}
