package rules

import (
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"
)

// What can start a program, or become one.
const (
	startingImports = "os/exec golang.org/x/sys/execabs"
	startingNames   = "os.StartProcess syscall.StartProcess syscall.ForkExec syscall.Exec unix.Exec " +
		"syscall.CreateProcess syscall.CreateProcessAsUser windows.CreateProcess windows.CreateProcessAsUser windows.ShellExecute " +
		"syscall.SYS_EXECVE syscall.SYS_EXECVEAT syscall.SYS_FORK syscall.SYS_VFORK syscall.SYS_CLONE syscall.SYS_CLONE3 " +
		"unix.SYS_EXECVE unix.SYS_EXECVEAT unix.SYS_FORK unix.SYS_VFORK unix.SYS_CLONE unix.SYS_CLONE3 " +
		"tea.Exec tea.ExecProcess"
)

// starters are the files that may use it, and for what. All others give a sandbox.Command with a
// policy to a sandbox.Supervisor.
var starters = map[string]string{
	"internal/sandbox/init_unix.go":            "starts perstack itself, as the supervisor process",
	"internal/sandbox/again_unix.go":           "starts perstack itself, as the full-screen program beside its guard",
	"internal/sandbox/serve_unix.go":           "starts a program, or perstack itself, for a request with a policy",
	"internal/sandbox/confine_linux.go":        "becomes a program, after its policy was applied",
	"internal/sandbox/os_windows.go":           "starts a program, whose policy was checked",
	"internal/sandbox/landlock/rules_linux.go": "names system calls to filter",
	"internal/sandbox/probe/run_linux.go":      "starts perstack itself, which tries what the kernel allows",
	"internal/sandbox/probe/outer_linux.go":    "starts perstack itself, in the namespaces that it tries",
	"internal/sandbox/hostile/hostile.go":      "starts perstack itself, as an attack from inside a sandbox",
	"internal/sandbox/hostile/resources.go":    "starts perstack itself, as an attack from inside a sandbox",
}

func strayStarts(t *tree) (found []finding) {
	for _, f := range t.program() {
		var starts []finding
		for _, i := range f.imports {
			if matches(startingImports, i.path) {
				starts = append(starts, finding{f.path, i.line, i.path + ": only internal/sandbox starts processes"})
			}
		}
		for _, use := range f.uses(f.syntax, startingNames) {
			starts = append(starts, f.at(use, "%s: only internal/sandbox starts processes", f.text(use)))
		}
		switch _, listed := starters[f.path]; {
		case !listed:
			found = append(found, starts...)
		case len(starts) == 0:
			found = append(found, f.at(f.syntax.Name, "starts nothing; remove it from starters"))
		}
	}
	return found
}

const (
	sandboxDir = "internal/sandbox"
	policyDir  = "internal/sandbox/policy"
)

// is reports whether an expression names something of a package, in a file of any package.
func (f *source) is(e ast.Expr, dir, name string) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return f.dir == dir && e.Name == name
	case *ast.SelectorExpr:
		return f.text(e) == path.Base(dir)+"."+name
	case *ast.StarExpr:
		return f.is(e.X, dir, name)
	}
	return false
}

// literals lists the values of a type that are written out, including those in lists and maps.
func (f *source) literals(dir, name string) (found []*ast.CompositeLit) {
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		l, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		var element ast.Expr
		switch of := l.Type.(type) {
		case *ast.ArrayType:
			element = of.Elt
		case *ast.MapType:
			element = of.Value
		default:
			if of != nil && f.is(of, dir, name) {
				found = append(found, l)
			}
		}
		if element == nil || !f.is(element, dir, name) {
			return true
		}
		for _, e := range l.Elts {
			if pair, ok := e.(*ast.KeyValueExpr); ok {
				e = pair.Value
			}
			if l, ok := e.(*ast.CompositeLit); ok && l.Type == nil {
				found = append(found, l)
			}
		}
		return true
	})
	return found
}

// field returns the value of a field in a literal; nil if it is left out.
func field(l *ast.CompositeLit, name string) ast.Expr {
	for _, e := range l.Elts {
		if pair, ok := e.(*ast.KeyValueExpr); ok {
			if key, ok := pair.Key.(*ast.Ident); ok && key.Name == name {
				return pair.Value
			}
		}
	}
	return nil
}

// missingPolicies finds programs without a policy. An empty command is refused when it is run.
func missingPolicies(t *tree) (found []finding) {
	for _, f := range t.program() {
		for _, name := range []string{"Command", "Server"} {
			for _, l := range f.literals(sandboxDir, name) {
				given := field(l, "Policy")
				if none, ok := given.(*ast.Ident); len(l.Elts) > 0 && (given == nil || ok && none.Name == "nil") {
					found = append(found, f.at(l, "a sandbox.%s has no Policy", name))
				}
			}
		}
	}
	return found
}

// exemptions compares the table of programs without a sandbox with its uses, and finds policies of
// level off that were made in another way.
func exemptions(t *tree) (found []finding) {
	names, rows, used := map[string]finding{}, map[string]bool{}, map[string]bool{}
	for _, f := range t.packages[policyDir] {
		if !f.test {
			f.readExemptions(names, rows)
		}
	}
	for _, f := range t.program() {
		found = append(found, f.strayOff(names, used)...)
	}
	for name, at := range names {
		if !rows[name] {
			at.what = name + " is not in the table of Exemptions"
			found = append(found, at)
		}
		if !used[name] {
			at.what = "no program has the exemption " + name
			found = append(found, at)
		}
	}
	return found
}

// readExemptions reads the constants of type Exemption, and the first field of each row.
func (f *source) readExemptions(names map[string]finding, rows map[string]bool) {
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); ok && kind.Name == "Exemption" {
			for _, name := range spec.Names {
				names[name.Name] = f.at(name, "")
			}
		}
		return true
	})
	for _, l := range f.literals(policyDir, "ExemptionRow") {
		if len(l.Elts) > 0 {
			if name, ok := l.Elts[0].(*ast.Ident); ok {
				rows[name.Name] = true
			}
		}
	}
}

// strayOff finds policies of level off that are not made by policy.Off with a name of the table.
func (f *source) strayOff(names map[string]finding, used map[string]bool) (found []finding) {
	for _, l := range f.literals(policyDir, "Policy") {
		level, exempt := field(l, "Level"), field(l, "Exempt")
		if (exempt != nil || level != nil && f.isOff(level)) && f.function(l) != policyDir+".Off" {
			found = append(found, f.at(l, "a policy of level off is not made by policy.Off"))
		}
	}
	called := map[*ast.SelectorExpr]bool{}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, target := range n.Lhs {
				if s, ok := target.(*ast.SelectorExpr); ok && s.Sel.Name == "Exempt" {
					found = append(found, f.at(n, "a policy of level off is not made by policy.Off"))
				}
			}
		case *ast.CallExpr:
			off, ok := n.Fun.(*ast.SelectorExpr)
			if !ok || f.text(off) != "policy.Off" || len(n.Args) != 1 {
				return true
			}
			name := ""
			if arg, ok := n.Args[0].(*ast.SelectorExpr); ok {
				name, _ = strings.CutPrefix(f.text(arg), "policy.")
			}
			if _, known := names[name]; !known {
				found = append(found, f.at(n, "policy.Off without a name of the table of exemptions"))
			}
			used[name], called[off] = true, true
		case *ast.SelectorExpr:
			if text := f.text(n); text == "policy.Off" && !called[n] || text == "policy.Exemption" {
				found = append(found, f.at(n, "%s hides which exemption is meant", text))
			}
		}
		return true
	})
	return found
}

// isOff reports whether an expression is the level off.
func (f *source) isOff(e ast.Expr) bool {
	text, isText := e.(*ast.BasicLit)
	return f.is(e, "expert", "SandboxOff") || isText && text.Kind == token.STRING && strings.Trim(text.Value, "\"`") == "off"
}

// function names the function around a node.
func (f *source) function(n ast.Node) string {
	i := slices.IndexFunc(f.syntax.Decls, func(d ast.Decl) bool { return d.Pos() <= n.Pos() && n.End() <= d.End() })
	if i < 0 {
		return ""
	}
	if fn, ok := f.syntax.Decls[i].(*ast.FuncDecl); ok && fn.Recv == nil {
		return f.dir + "." + fn.Name.Name
	}
	return ""
}
