package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"path"
	"slices"
	"strings"
)

const maxLines = 600

func emptyNames(t *tree) (found []finding) {
	nothing := strings.Fields("util utils common commons helper helpers type types manager managers misc")
	for _, f := range t.sources(true) {
		name := strings.TrimSuffix(f.syntax.Name.Name, "_test")
		if slices.Contains(nothing, name) || slices.Contains(nothing, path.Base(f.dir)) {
			found = append(found, f.at(f.syntax.Name, "the name %s says nothing about what is inside", name))
		}
	}
	return found
}

func missingPackageComments(t *tree) (found []finding) {
	for _, dir := range slices.Sorted(maps.Keys(t.packages)) {
		files := slices.DeleteFunc(slices.Clone(t.packages[dir]), func(f *source) bool { return f.test })
		if len(files) == 0 {
			continue
		}
		name := files[0].syntax.Name
		start := "Package " + name.Name + " "
		if name.Name == "main" {
			start = "Command " + path.Base(dir) + " "
		}
		if !slices.ContainsFunc(files, func(f *source) bool {
			return f.syntax.Doc != nil && strings.HasPrefix(strings.ReplaceAll(f.syntax.Doc.Text(), "\n", " "), start)
		}) {
			found = append(found, files[0].at(name, "%s has no package comment that begins with %q", dir, start))
		}
	}
	return found
}

func longFiles(t *tree) (found []finding) {
	for _, f := range t.sources(true) {
		if f.lines > maxLines {
			found = append(found, finding{f.path, f.lines, fmt.Sprintf("%d lines", f.lines)})
		}
	}
	return found
}

func initFunctions(t *tree) (found []finding) {
	for _, f := range t.sources(true) {
		for _, d := range f.syntax.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				found = append(found, f.at(fn, "init function"))
			}
		}
	}
	return found
}

// sleepingTests leaves three kinds of sleep alone: those in a synctest bubble, those in
// a loop that polls for something without a notification (the death of a grandchild),
// and time.Sleep(time.Hour), by which a child process plays a program that hangs.
func sleepingTests(t *tree) (found []finding) {
	for _, f := range t.sources(true) {
		if !f.test || slices.ContainsFunc(f.imports, func(i imported) bool { return i.path == "testing/synctest" }) {
			continue
		}
		spared := map[*ast.SelectorExpr]bool{}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ForStmt:
				for _, use := range f.uses(n.Body, "time.Sleep") {
					spared[use] = true
				}
			case *ast.CallExpr:
				if fn, ok := n.Fun.(*ast.SelectorExpr); ok && len(n.Args) == 1 && len(f.uses(n.Args[0], "time.Hour")) > 0 {
					spared[fn] = true
				}
			}
			return true
		})
		for _, use := range f.uses(f.syntax, "time.Sleep") {
			if !spared[use] {
				found = append(found, f.at(use, "time.Sleep in a test"))
			}
		}
	}
	return found
}

// sharedState finds package variables that a function changes, and those whose type is
// made for being changed.
func sharedState(t *tree) (found []finding) {
	for _, dir := range slices.Sorted(maps.Keys(t.packages)) {
		variables := map[string]bool{}
		specs := map[any]bool{}
		for _, f := range t.packages[dir] {
			if f.test {
				continue
			}
			for _, d := range f.syntax.Decls {
				decl, ok := d.(*ast.GenDecl)
				if !ok || decl.Tok != token.VAR {
					continue
				}
				for _, s := range decl.Specs {
					spec := s.(*ast.ValueSpec)
					specs[spec] = true
					for _, name := range spec.Names {
						variables[name.Name] = name.Name != "_"
					}
					if spec.Type != nil && f.isLock(spec.Type) {
						found = append(found, f.at(spec, "package variable %s is made for being changed", spec.Names[0].Name))
					}
				}
			}
		}
		for _, f := range t.packages[dir] {
			if f.test {
				continue
			}
			for _, target := range changed(f.syntax) {
				// The parser resolves what it sees in this file: a name it did not
				// resolve, or resolved to one of the specs, is the package's.
				if id := root(target); id != nil && variables[id.Name] && (id.Obj == nil || specs[id.Obj.Decl]) {
					found = append(found, f.at(id, "package variable %s is changed", id.Name))
				}
			}
		}
	}
	return found
}

// isLock says whether a type of package sync or sync/atomic is meant. A sync.Pool may
// stay: no code can depend on its content.
func (f *source) isLock(e ast.Expr) bool {
	if index, ok := e.(*ast.IndexExpr); ok {
		e = index.X // atomic.Pointer[T]
	}
	selector, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	from, _, _ := strings.Cut(f.text(selector), ".")
	return from == "sync" && selector.Sel.Name != "Pool" || from == "atomic"
}

// changed lists the expressions that a file assigns to, counts up or down, or empties.
func changed(n ast.Node) (targets []ast.Expr) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				targets = append(targets, n.Lhs...)
			}
		case *ast.IncDecStmt:
			targets = append(targets, n.X)
		case *ast.RangeStmt:
			if n.Tok == token.ASSIGN {
				targets = append(targets, n.Key, n.Value)
			}
		case *ast.CallExpr:
			if fn, ok := n.Fun.(*ast.Ident); ok && (fn.Name == "delete" || fn.Name == "clear") && len(n.Args) > 0 {
				targets = append(targets, n.Args[0])
			}
		}
		return true
	})
	return targets
}

// root returns the variable at the bottom of an expression such as (*a.b[c]).d.
func root(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		default:
			return nil
		}
	}
}
