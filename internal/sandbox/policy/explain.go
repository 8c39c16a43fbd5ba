package policy

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/expert"
)

const (
	explainPart  = 64 << 10 // bytes at the beginning and at the end of the text that are looked at
	maxHints     = 5
	maxPathBytes = 1024
	maxWords     = 64 // of a line
	maxHintLine  = 8 << 10
	maxExamined  = 1000 // paths that are compared with the policy
)

// Explain looks in what a failed program printed for traces of the sandbox. It knows the policy
// only and does not touch the file system, so that a hint reveals nothing about files outside.
func Explain(stderr string, p *Policy, command string) []Hint {
	x := &explainer{policy: p, command: CommandName(command), protected: make(map[string]protection), endings: make(map[string]string)}
	x.index()
	var lines []string
	for _, part := range ends(stderr) {
		lines = append(lines, strings.Split(part, "\n")...)
	}
	for i := range lines {
		lines[i] = plain(lines[i][:min(len(lines[i]), maxHintLine)])
	}
	for i, line := range lines {
		if len(x.hints) == maxHints {
			break
		}
		c := causeOf(line)
		if c == 0 {
			continue
		}
		if c == unreachable || c == refused {
			x.network(line, c)
			continue
		}
		found := pathsIn(line)
		if len(found) == 0 { // npm names the path in a line of its own
			for _, other := range lines[max(0, i-1):min(len(lines), i+4)] {
				if _, after, ok := strings.Cut(other, " path "); ok {
					found = append(found, pathsIn(after)...)
				}
			}
		}
		for _, path := range found {
			x.path(path, c)
		}
	}
	return x.hints
}

// ends returns the beginning and the end of a text, or all of a short one.
func ends(text string) []string {
	if len(text) <= 2*explainPart {
		return []string{text}
	}
	return []string{text[:explainPart], text[len(text)-explainPart:]}
}

type explainer struct {
	policy    *Policy
	command   string
	protected map[string]protection // by absolute path
	endings   map[string]string     // from the last names of a protected path to the whole
	examined  int
	hints     []Hint
}

// A protection is one of the ways in which a policy protects a path.
type protection int

const (
	pinned protection = iota + 1
	frozen
	hidden
)

// index prepares what is protected. At level landlock nothing in the workspace is.
func (x *explainer) index() {
	p := x.policy
	if p.Level != expert.SandboxFull {
		return
	}
	for i, paths := range [][]string{p.Pinned, p.Frozen, p.Hidden} { // the last one counts
		for _, path := range paths {
			at := path
			if !filepath.IsAbs(at) {
				at = filepath.Join(p.Workspace.Path, at)
			}
			x.protected[at] = pinned + protection(i)
			for rest := filepath.ToSlash(path); ; {
				if x.endings[rest] == "" || at != path && rest == filepath.ToSlash(path) { // the whole path is the best
					x.endings[rest] = at
				}
				_, after, ok := strings.Cut(rest, "/")
				if !ok {
					break
				}
				rest = after
			}
		}
	}
}

// isGitPath recognises what git obeys in a git directory.
func isGitPath(path string) bool {
	switch filepath.Base(path) {
	case "config", "config.worktree", "hooks":
		return strings.Contains(filepath.ToSlash(filepath.Dir(path))+"/", ".git/") // repo.git/ too
	}
	return false
}

// path adds a hint if the sandbox keeps programs from a path.
func (x *explainer) path(path string, c cause) {
	if x.examined++; x.examined > maxExamined {
		return
	}
	p := x.policy
	switch {
	case strings.HasPrefix(path, "~/") && p.Home != "":
		path = filepath.Join(p.Home, path[2:])
	case !filepath.IsAbs(path):
		// The directory that it starts from is not known, so only names of protected files count.
		if path = x.complete(trimDots(filepath.ToSlash(filepath.Clean(path)))); path == "" {
			return
		}
	}
	path = filepath.Clean(path)
	if h, ok := x.protection(path, c); ok {
		x.add(h)
		return
	}
	switch p.access(path) {
	case accessNone:
		if c != busy {
			x.add(Hint{Kind: HintOutside, Path: path})
		}
	case accessHome: // what a program makes there is its own
		if c == missing || p.Level == expert.SandboxLandlock && c == denied {
			x.add(Hint{Kind: HintOutside, Path: path})
		}
	case accessRead:
		if c == readOnly {
			x.add(Hint{Kind: HintReadOnly, Path: x.short(path)})
		}
	}
}

// complete returns the protected path that a relative one means, or a path in it; "" if it can be
// any path.
func (x *explainer) complete(name string) string {
	if at := cmp.Or(x.endings[name], x.endings[strings.TrimSuffix(name, ".lock")]); at != "" {
		return at
	}
	for end := strings.LastIndexByte(name, '/'); end > 0; end = strings.LastIndexByte(name[:end], '/') {
		if at := x.endings[name[:end]]; at != "" && x.protected[at] != pinned {
			return filepath.Join(at, name[end:])
		}
	}
	return ""
}

// trimDots removes ../ from the beginning of a clean path.
func trimDots(path string) string {
	for {
		rest, ok := strings.CutPrefix(path, "../")
		if !ok {
			return path
		}
		path = rest
	}
}

// protection returns the hint for a path that is protected from what the program tried.
func (x *explainer) protection(path string, c cause) (Hint, bool) {
	at := path
	how := x.protected[at]
	if how == 0 { // git makes such a file before it replaces the other
		at = strings.TrimSuffix(path, ".lock")
		how = x.protected[at]
	}
	for dir := filepath.Dir(path); how == 0; dir = filepath.Dir(dir) {
		if above := x.protected[dir]; above == frozen || above == hidden {
			at, how = dir, above
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	switch {
	case how == hidden && (c != missing || at != path): // the file itself is never missing
		return Hint{Kind: HintHidden, Path: x.short(path)}, true
	case how == frozen && (c == readOnly || c == busy) && isGitPath(at):
		return Hint{Kind: HintGitConfig, Path: x.short(at)}, true
	case how == frozen && (c == readOnly || c == busy):
		return Hint{Kind: HintReadOnly, Path: x.short(path)}, true
	case how == pinned && c == busy:
		return Hint{Kind: HintReadOnly, Path: x.short(path), Message: fmt.Sprintf("%s cannot be renamed or removed in the sandbox", printable(x.short(path), maxPathBytes))}, true
	}
	return Hint{}, false
}

// short makes a path in the workspace relative to it.
func (x *explainer) short(path string) string {
	if dir := x.policy.Workspace.Path; dir != "" && in(dir, path) && path != dir {
		rest, err := filepath.Rel(dir, path)
		if err == nil {
			return rest
		}
	}
	return path
}

func (x *explainer) add(h Hint) {
	h.Path, h.Host = printable(h.Path, maxPathBytes), printable(h.Host, maxPathBytes)
	h.Command, h.Message = x.command, cmp.Or(h.Message, h.message(x.policy))
	same := func(o Hint) bool { return o.Kind == h.Kind && o.Path == h.Path && o.Host == h.Host }
	if len(x.hints) < maxHints && !slices.ContainsFunc(x.hints, same) {
		x.hints = append(x.hints, h)
	}
}
