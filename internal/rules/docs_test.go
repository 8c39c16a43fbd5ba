package rules

import (
	"fmt"
	"go/ast"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

func deadLinks(t *tree) (found []finding) {
	pages := map[string]*page{}
	for _, p := range t.pages {
		pages[p.path] = p
	}
	for _, p := range t.pages {
		for _, link := range p.links {
			if strings.Contains(link.text, ":") {
				continue // https:, mailto:
			}
			file, anchor, _ := strings.Cut(link.text, "#")
			target := p.path
			if file != "" {
				target = path.Join(path.Dir(p.path), file)
			}
			if _, err := fs.Stat(t.fsys, target); err != nil {
				found = append(found, finding{p.path, link.line, fmt.Sprintf("link to %s, which does not exist", link.text)})
			} else if page, ok := pages[target]; ok && anchor != "" && !page.anchors[anchor] {
				found = append(found, finding{p.path, link.line, fmt.Sprintf("link to %s: %s has no such heading", link.text, target)})
			}
		}
	}
	return found
}

func brokenTOML(t *tree) (found []finding) {
	for _, p := range t.pages {
		for _, f := range p.blocks {
			if f.language != "toml" {
				continue
			}
			var into map[string]any
			if err := toml.Unmarshal([]byte(f.text), &into); err != nil {
				found = append(found, finding{p.path, f.line, err.Error()})
			}
		}
	}
	return found
}

var (
	shellLanguages  = []string{"sh", "bash", "shell", "console"}
	perstackPattern = regexp.MustCompile(`(?:^|[\s/])perstack\s+([a-z][a-z-]*)`)
	makePattern     = regexp.MustCompile(`(?:^|\s)make\s+([a-z][a-z-]*)`)
	targetPattern   = regexp.MustCompile(`(?m)^([a-z][a-z-]*):`)
	goPattern       = regexp.MustCompile(`(?:^|\s)go (?:test|run|doc|vet)\s(.*)`)
	packagePattern  = regexp.MustCompile(`(?:^|\s)\./([a-z][a-zA-Z0-9/]*)`)
)

// unknownCommands looks into shell blocks, and into inline code that starts like a
// command.
func unknownCommands(t *tree) (found []finding) {
	commands, targets := t.commands(), t.makeTargets()
	for _, p := range t.pages {
		for _, c := range p.shellLines() {
			if m := perstackPattern.FindStringSubmatch(c.text); m != nil && commands != nil && !slices.Contains(commands, m[1]) {
				found = append(found, finding{p.path, c.line, fmt.Sprintf("perstack %s is not a command", m[1])})
			}
			if m := makePattern.FindStringSubmatch(c.text); m != nil && targets != nil && !slices.Contains(targets, m[1]) {
				found = append(found, finding{p.path, c.line, fmt.Sprintf("make %s is not a target", m[1])})
			}
			if m := goPattern.FindStringSubmatch(c.text); m != nil {
				for _, m := range packagePattern.FindAllStringSubmatch(m[1], -1) {
					if t.packages[m[1]] == nil {
						found = append(found, finding{p.path, c.line, fmt.Sprintf("there is no package %s", m[1])})
					}
				}
			}
		}
	}
	return found
}

func (p *page) shellLines() (lines []span) {
	for _, f := range p.blocks {
		if !slices.Contains(shellLanguages, f.language) {
			continue
		}
		for i, line := range strings.Split(f.text, "\n") {
			command, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "$ "), "#")
			lines = append(lines, span{command, f.line + 1 + i})
		}
	}
	for _, c := range p.code {
		if strings.HasPrefix(c.text, "make ") || strings.HasPrefix(c.text, "go ") {
			lines = append(lines, c)
		}
	}
	return lines
}

// commands reads from internal/cli which packages are put together as commands.
func (t *tree) commands() (names []string) {
	for _, f := range t.packages["internal/cli"] {
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			// A row with the name of a command, and what adds it.
			if row, ok := n.(*ast.CompositeLit); ok && len(row.Elts) == 2 {
				name, isText := row.Elts[0].(*ast.BasicLit)
				if _, adds := row.Elts[1].(*ast.FuncLit); isText && adds {
					names = append(names, strings.Trim(name.Value, `"`))
				}
			}
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if fn, ok := call.Fun.(*ast.SelectorExpr); !ok || fn.Sel.Name != "AddCommand" {
				return true
			}
			for _, arg := range call.Args {
				if made, ok := arg.(*ast.CallExpr); ok {
					if fn, ok := made.Fun.(*ast.SelectorExpr); ok {
						if id := root(fn.X); id != nil {
							names = append(names, id.Name)
						}
					}
				}
			}
			return true
		})
	}
	if names != nil {
		names = append(names, "help", "completion") // cobra's own
	}
	return names
}

func (t *tree) makeTargets() (names []string) {
	data, err := fs.ReadFile(t.fsys, "Makefile")
	if err != nil {
		return nil
	}
	for _, m := range targetPattern.FindAllStringSubmatch(string(data), -1) {
		names = append(names, m[1])
	}
	return names
}

// A page names a test as `TestName`, `TestName/case` or `some/package.TestName`, or with the
// command that runs it. In a command, the beginning of a name is enough.
var (
	testPattern    = regexp.MustCompile(`^(?:([a-z][a-z0-9/]*)\.)?((?:Test|Fuzz|Benchmark)[A-Z]\w*)(?:/\S+)?$`)
	runPattern     = regexp.MustCompile(`^go test (.*) -run (\S+)`)
	runNamePattern = regexp.MustCompile(`\b(?:Test|Fuzz|Benchmark)[A-Z]\w*`)
)

func unknownTests(t *tree) (found []finding) {
	where := map[string][]string{} // the directories that have a test of that name
	for _, f := range t.sources(true) {
		if !f.test {
			continue
		}
		for _, d := range f.syntax.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
				where[fn.Name.Name] = append(where[fn.Name.Name], f.dir)
			}
		}
	}
	for _, p := range t.pages {
		for _, c := range p.shellLines() {
			m := runPattern.FindStringSubmatch(c.text)
			if m == nil {
				continue
			}
			for _, name := range runNamePattern.FindAllString(m[2], -1) {
				for _, pkg := range packagePattern.FindAllStringSubmatch(m[1], -1) {
					if !hasTest(where, pkg[1], name) {
						found = append(found, finding{p.path, c.line, fmt.Sprintf("there is no test %s in %s", name, pkg[1])})
					}
				}
			}
		}
		for _, c := range p.code {
			m := testPattern.FindStringSubmatch(c.text)
			if m == nil {
				continue
			}
			if dirs := where[m[2]]; len(dirs) == 0 || m[1] != "" && !slices.Contains(dirs, m[1]) {
				found = append(found, finding{p.path, c.line, fmt.Sprintf("there is no test %s", c.text)})
			}
		}
	}
	return found
}

// hasTest reports whether a directory has a test whose name begins so.
func hasTest(where map[string][]string, dir, beginning string) bool {
	for name, dirs := range where {
		if strings.HasPrefix(name, beginning) && slices.Contains(dirs, dir) {
			return true
		}
	}
	return false
}
