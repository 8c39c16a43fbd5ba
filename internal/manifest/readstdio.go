package manifest

import (
	"strconv"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/toml"
)

// stdioSkill reads what a program needs to be started.
func (r *reader) stdioSkill(t *toml.Table, s *expert.Skill) {
	if s.IsBase() {
		// The built-in base skill needs no command, so an entry that only
		// picks tools need not invent one.
		s.Command = t.Str("command", toml.Length(1, 4096), command, expert.DisguisedManager)
	} else {
		s.Command = t.Require("command", `name the program to start, like "npx"`, toml.Length(1, 4096), command, expert.DisguisedManager)
	}
	s.PackageName = t.Str("packageName", expert.PackageName)
	s.Args = t.Strs("args", 0, toml.NoNUL)
	s.LazyInit = t.Bool("lazyInit")
	r.cell(t, s)

	manager := expert.PackageManager(s.Command)
	hasPackage, hasArgs := t.Node.Fields["packageName"] != nil, len(s.Args) > 0
	switch {
	case hasPackage && hasArgs:
		r.Fault(t.Node.Fields["args"].KeyAt, t.Path, "has both packageName and args", "keep one of them")
	case s.IsBase() && t.Node.Fields["command"] == nil && (hasArgs || s.PackageName != ""):
		r.baseWithoutCommand(t, s)
	case manager != "" && !hasPackage && !hasArgs && !s.AsksForBuiltIn() && !wrongArgs(t.Node.Fields["args"]):
		r.Missing(t.Node.KeyAt, t.Path, "has no packageName or args", `write packageName = "name" or args = ["…"]`)
	case manager != "" && hasArgs && len(s.Args) == len(t.Node.Fields["args"].Items):
		r.packageArgs(manager, s.Args, t.Node.Fields["args"], t.At("args"))
	}
}

// baseWithoutCommand knows one package without being told how to start it. Of another
// one, and of arguments, nobody could say for which program they are meant.
func (r *reader) baseWithoutCommand(t *toml.Table, s *expert.Skill) {
	if expert.IsBasePackage(s.PackageName) {
		s.Command = "npx"
		return
	}
	r.Missing(t.Node.KeyAt, t.At("command"), "is required", "name the program to start instead of the built-in base skill")
}

// packageArgs reports what is wrong with the arguments of a package manager. The first of
// them is the argument at index 0 of args, whose list in the file may begin earlier.
func (r *reader) packageArgs(manager string, args []string, list *toml.Node, path string) {
	_, fault := expert.ParsePackage(manager, args)
	if fault == nil {
		return
	}
	if fault.At < 0 {
		r.Fault(list.KeyAt, path, fault.Message, fault.Hint)
		return
	}
	i := len(list.Items) - len(args) + fault.At
	r.Fault(list.Items[i].At, toml.PathTo(path, strconv.Itoa(i)), fault.Message, fault.Hint)
}

// wrongArgs reports whether args has a problem of its own; then "has no args"
// would be a second report of the same mistake.
func wrongArgs(n *toml.Node) bool {
	return n != nil && (n.Kind != toml.KindArray || len(n.Items) > 0)
}
