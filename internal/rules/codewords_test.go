package rules

import (
	"go/ast"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// avoidedInCode holds what only contributors read to the same words as pages and messages:
// comments and names, the messages of tests, and what is written in scripts and examples. The
// data of a test can have any word.
func avoidedInCode(t *tree) (found []finding) {
	for _, f := range slices.Concat(t.sources(true), t.nested) {
		found = append(found, f.avoidedInComments()...)
		found = append(found, f.avoidedInNames()...)
		if !f.test && !matches(forTests, f.dir) {
			continue // messages of the product have a rule of their own
		}
		found = append(found, f.avoidedInFailures()...)
		found = append(found, f.avoidedInCases()...)
	}
	return append(found, t.avoidedInScripts()...)
}

// anyAvoided matches wherever one of the words does: almost no text has one.
var anyAvoided = func() *regexp.Regexp {
	var all []string
	for _, w := range avoidedWords {
		all = append(all, w.pattern.String())
	}
	return regexp.MustCompile(strings.Join(all, "|"))
}()

// inText returns a finding for each avoided word in a text that begins on the given line.
func inText(name string, line int, text string) (found []finding) {
	if !anyAvoided.MatchString(text) {
		return nil
	}
	for _, w := range avoidedWords {
		for _, at := range w.pattern.FindAllStringIndex(text, -1) {
			found = append(found, finding{name, line + strings.Count(text[:at[0]], "\n"), w.say(text[at[0]:at[1]])})
		}
	}
	return found
}

var goMarkers = regexp.MustCompile(`(?m)^[ \t]*(?://|/\*|\*/)`)

// avoidedInComments leaves out indented blocks, which are code or output.
func (f *source) avoidedInComments() (found []finding) {
	for _, group := range f.syntax.Comments {
		var text strings.Builder
		for i, c := range group.List {
			if i > 0 {
				text.WriteString("\n")
			}
			if !strings.HasPrefix(c.Text, "//\t") {
				text.WriteString(goMarkers.ReplaceAllString(c.Text, ""))
			}
		}
		found = append(found, inText(f.path, f.line(group), text.String())...)
	}
	return found
}

// avoidedInNames looks at what a file declares, and at its own name.
func (f *source) avoidedInNames() (found []finding) {
	file := strings.TrimSuffix(path.Base(f.path), ".go")
	found = append(found, inText(f.path, 1, words(file))...)
	check := func(names ...*ast.Ident) {
		for _, name := range names {
			found = append(found, inText(f.path, f.line(name), words(name.Name))...)
		}
	}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			check(n.Name)
		case *ast.TypeSpec:
			check(n.Name)
		case *ast.ValueSpec:
			check(n.Names...)
		case *ast.Field: // of a struct or an interface; parameters and results, too
			check(n.Names...)
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				check(identifiers(n.Key, n.Value)...)
			}
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				check(identifiers(n.Lhs...)...)
			}
		}
		return true
	})
	return found
}

func identifiers(list ...ast.Expr) (names []*ast.Ident) {
	for _, e := range list {
		if name, ok := e.(*ast.Ident); ok {
			names = append(names, name)
		}
	}
	return names
}

var (
	afterCapitals = regexp.MustCompile(`(\p{Lu})(\p{Lu}\p{Ll})`)
	beforeCapital = regexp.MustCompile(`([\p{Ll}\d])(\p{Lu})`)
)

// words takes a name apart: "TestOpensAFile" is "Test Opens A File".
func words(name string) string {
	name = strings.ReplaceAll(name, "_", " ")
	return beforeCapital.ReplaceAllString(afterCapitals.ReplaceAllString(name, "$1 $2"), "$1 $2")
}

// failureCalls are the functions whose strings a person reads when a test fails.
const failureCalls = "Error Errorf Fatal Fatalf Log Logf Skip Skipf Missing New Println Printf Fprintln Fprintf Run panic"

func (f *source) avoidedInFailures() (found []finding) {
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		name := ""
		switch fn := call.Fun.(type) {
		case *ast.Ident:
			name = fn.Name
		case *ast.SelectorExpr:
			name = fn.Sel.Name
		}
		if !slices.Contains(strings.Fields(failureCalls), name) {
			return true
		}
		for _, arg := range call.Args {
			lit, ok := arg.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				continue
			}
			if text, err := strconv.Unquote(lit.Value); err == nil {
				found = append(found, inText(f.path, f.line(lit), strings.ReplaceAll(text, "\n", " "))...)
			}
		}
		return true
	})
	return found
}

// avoidedInCases looks at the names of the cases of a table: the keys of a map, the first string of
// a row, and fields that are called so. A single word can be a value.
func (f *source) avoidedInCases() (found []finding) {
	check := func(e ast.Expr) {
		lit, ok := e.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return
		}
		if text, err := strconv.Unquote(lit.Value); err == nil && len(strings.Fields(text)) > 1 {
			found = append(found, inText(f.path, f.line(lit), strings.ReplaceAll(text, "\n", " "))...)
		}
	}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		row, ok := n.(*ast.CompositeLit)
		if !ok || len(row.Elts) == 0 {
			return true
		}
		if row.Type == nil {
			check(row.Elts[0])
		}
		for _, e := range row.Elts {
			pair, ok := e.(*ast.KeyValueExpr)
			if !ok {
				continue
			}
			check(pair.Key)
			if key, ok := pair.Key.(*ast.Ident); ok && slices.Contains(strings.Fields("name Name what why says fix"), key.Name) {
				check(pair.Value)
			}
		}
		return true
	})
	return found
}

// scripts are files other than Go in which people read prose. TOML files are read as a whole,
// because an example has texts for models and users; of other files, only the comments.
var scripts = strings.Fields("Makefile .ci/* examples/*/*.toml test/*/*.sh test/testdata/script/*.txtar")

var scriptComment = regexp.MustCompile(`(?m)^\s*#!?\s*(.*)$|\s#\s(.*)$`)

func (t *tree) avoidedInScripts() (found []finding) {
	for _, pattern := range scripts {
		names, _ := fs.Glob(t.fsys, pattern) // the patterns are well formed
		for _, name := range names {
			data, err := fs.ReadFile(t.fsys, name)
			if err != nil {
				found = append(found, finding{name, 1, err.Error()})
				continue
			}
			found = append(found, inText(name, 1, words(path.Base(name)))...)
			found = append(found, inText(name, 1, prose(name, string(data)))...)
		}
	}
	return found
}

// prose returns a script in which all that is not for people is left out. The lines stay.
func prose(name, text string) string {
	if path.Ext(name) == ".txtar" { // the files behind the script are data
		text, _, _ = strings.Cut(text, "\n-- ")
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		switch m := scriptComment.FindStringSubmatch(line); {
		case m != nil:
			lines[i] = m[1] + m[2]
		case path.Ext(name) != ".toml":
			lines[i] = ""
		}
	}
	return strings.Join(lines, "\n")
}
