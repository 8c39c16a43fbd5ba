package expert

import "strconv"

// stdioSkill reads what a program needs to be started.
func (r *reader) stdioSkill(t *table, s *Skill) {
	if s.IsBase() {
		// The built-in base skill needs no command, so an entry that only
		// picks tools need not invent one.
		s.Command = t.str("command", length(1, 4096), command, plainManager)
	} else {
		s.Command = t.require("command", `name the program to start, like "npx"`, length(1, 4096), command, plainManager)
	}
	s.PackageName = t.str("packageName", packageName)
	s.Args = t.strs("args", 0, noNUL)
	s.LazyInit = t.boolean("lazyInit")
	r.cell(t, s)

	manager := packageManager(s.Command)
	hasPackage, hasArgs := t.n.fields["packageName"] != nil, len(s.Args) > 0
	switch {
	case hasPackage && hasArgs:
		r.fault(t.n.fields["args"].keyAt, t.path, "has both packageName and args", "keep one of them")
	case s.IsBase() && t.n.fields["command"] == nil && (hasArgs || s.PackageName != ""):
		r.baseWithoutCommand(t, s)
	case manager != "" && !hasPackage && !hasArgs && !s.asksForBuiltIn() && !wrongArgs(t.n.fields["args"]):
		r.missing(t.n.keyAt, t.path, "has no packageName or args", `write packageName = "name" or args = ["…"]`)
	case manager != "" && hasArgs && len(s.Args) == len(t.n.fields["args"].items):
		r.packageArgs(manager, s.Args, t.n.fields["args"], t.at("args"))
	}
}

// baseWithoutCommand knows one package without being told how to start it. Of another
// one, and of arguments, nobody could say for which program they are meant.
func (r *reader) baseWithoutCommand(t *table, s *Skill) {
	if isBasePackage(s.PackageName) {
		s.Command = "npx"
		return
	}
	r.missing(t.n.keyAt, t.at("command"), "is required", "name the program to start instead of the built-in base skill")
}

// packageArgs reports what is wrong with the arguments of a package manager. The first of
// them is the argument at index 0 of args, whose list in the file may begin earlier.
func (r *reader) packageArgs(manager string, args []string, list *node, path string) {
	_, fault := parsePackage(manager, args)
	if fault == nil {
		return
	}
	if fault.at < 0 {
		r.fault(list.keyAt, path, fault.message, fault.hint)
		return
	}
	i := len(list.items) - len(args) + fault.at
	r.fault(list.items[i].at, pathTo(path, strconv.Itoa(i)), fault.message, fault.hint)
}

// wrongArgs reports whether args has a problem of its own; then "has no args"
// would be a second report of the same mistake.
func wrongArgs(n *node) bool {
	return n != nil && (n.kind != kindArray || len(n.items) > 0)
}
