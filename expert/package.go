package expert

import (
	"fmt"
	"slices"
	"strings"
)

// A Package is what a skill asks a package manager to fetch and start: the parts of a
// command line like npx -y @scope/name@1.2.3 --flag.
type Package struct {
	Manager string   `json:"manager"`          // npx or uvx
	Name    string   `json:"name"`             // without a version
	Version string   `json:"version,omitzero"` // exact; empty if the file names none
	Tag     string   `json:"tag,omitzero"`     // like latest; empty unless the file names one
	Program string   `json:"program,omitzero"` // which program of the package; empty for its only one
	Args    []string `json:"-"`                // for the program
}

// Package returns what the command of s asks a package manager for. It is false for
// skills that start a program of the machine, and for those that start none.
func (s *Skill) Package() (Package, bool) {
	name := PackageManager(s.Command)
	if s.Type != StdioSkill || s.BuiltIn || name == "" {
		return Package{}, false
	}
	args := s.Args
	if s.PackageName != "" {
		args = []string{s.PackageName}
	}
	p, fault := ParsePackage(name, args)
	return p, fault == nil
}

// CommandLine is the program of a skill and its arguments, for skills that start a
// program of the machine. A package manager is no such program: it could do anything with a
// command line that [Skill.Package] does not understand.
func (s *Skill) CommandLine() ([]string, error) {
	switch {
	case s.Type != StdioSkill || s.BuiltIn || s.Command == "":
		return nil, fmt.Errorf("skill %s starts no program", quote(s.Name))
	case PackageManager(s.Command) != "":
		return nil, fmt.Errorf("skill %s is started from a package, not by %s", quote(s.Name), quote(s.Command))
	}
	if message, hint := DisguisedManager(s.Command); message != "" {
		return nil, fmt.Errorf("skill %s: %s; %s", quote(s.Name), message, hint)
	}
	if s.PackageName != "" {
		return []string{s.Command, s.PackageName}, nil
	}
	return append([]string{s.Command}, s.Args...), nil
}

// Spec is the package as a package manager is asked for it: name, name@version or name@tag.
func (p Package) Spec() string { return Key{p.Name, p.Version, p.Tag}.String() }

// A manager is a package manager whose command lines are understood. They are not run as
// they are written: npx, for one, has options that run a shell, load code into node or
// choose another registry. So only these may stand before the package.
type manager struct {
	name     string
	commands []string // how a file may call it
	idle     []string // options that mean nothing here
	from     []string // options that name the package, when its program has another name
}

var managers = []manager{
	{"npx", []string{"npx", "npx.cmd"}, []string{"-y", "--yes", "-q", "--quiet"}, []string{"-p", "--package"}},
	{"uvx", []string{"uvx", "uvx.exe"}, []string{"-q", "--quiet"}, []string{"--from"}},
}

// PackageManager says which package manager a command is, or "".
func PackageManager(command string) string {
	for _, m := range managers {
		if slices.Contains(m.commands, command) {
			return m.name
		}
	}
	return ""
}

// ManagerCommands are all the ways to call a package manager, without those of one of them.
func ManagerCommands(without string) (all []string) {
	for _, m := range managers {
		if m.name != without {
			all = append(all, m.commands...)
		}
	}
	return all
}

// DisguisedManager refuses a package manager that is called by a path or in other letters.
// It would be started as any program is: without pins, and with lifecycle scripts.
func DisguisedManager(s string) (string, string) {
	if PackageManager(s) != "" {
		return "", ""
	}
	// Windows ignores letter case and dots at the end, and tries extensions.
	name := strings.TrimRight(strings.ToLower(s[strings.LastIndexAny(s, `/\`)+1:]), ". ")
	if stem, extension, found := strings.Cut(name, "."); found && slices.Contains([]string{"cmd", "exe", "bat", "com", "ps1"}, extension) {
		name = stem
	}
	for _, m := range managers {
		if name == m.name {
			return fmt.Sprintf("%s calls %s in another way than by its name", quote(s), m.name), `write "` + m.name + `": its packages are fetched and pinned for you`
		}
	}
	return "", ""
}

// A PackageFault is what keeps a command line from being understood.
type PackageFault struct {
	At            int // which argument; -1 when something is missing
	Message, Hint string
}

// ParsePackage reads the arguments of a package manager: options, then the package (or,
// after an option that names it, the program), then what is left for the server.
func ParsePackage(name string, args []string) (Package, *PackageFault) {
	m := managers[slices.IndexFunc(managers, func(m manager) bool { return m.name == name })]
	fail := func(at int, message, hint string) (Package, *PackageFault) {
		return Package{}, &PackageFault{at, m.name + " " + message, hint}
	}
	spec, specAt, i := "", -1, 0
options:
	for ; i < len(args); i++ {
		option, value, joined := strings.Cut(args[i], "=")
		switch {
		case args[i] == "--":
			i++
			break options
		case slices.Contains(m.idle, args[i]):
		case slices.Contains(m.from, option) && (!joined || strings.HasPrefix(option, "--")):
			if specAt >= 0 {
				return fail(i, "is given a second package", "a skill is started from one package")
			}
			if !joined {
				if i++; i == len(args) {
					return fail(i-1, "is given no package", "write it after "+option)
				}
				value = args[i]
			}
			spec, specAt = value, i
		case strings.HasPrefix(args[i], "-"):
			return fail(i, "does not get the option "+quote(args[i]),
				"before the package only "+strings.Join(slices.Concat(m.idle, m.from), ", ")+" or --"+" may stand; what the server gets comes after it")
		default:
			break options
		}
	}
	program := ""
	switch {
	case specAt < 0 && i == len(args):
		return fail(-1, "is given no package", `name one, like "@scope/name@1.0.0"`)
	case specAt < 0:
		spec, specAt = args[i], i
	case i == len(args):
		return fail(specAt, "is not told which program of the package to start", "write its name after the package")
	case len(args[i]) > 255 || !isWord(args[i], upper+lower, "_.-"): // it becomes a file name
		return fail(i, "cannot start the program "+quote(args[i]), "use letters, digits, ., _ and -")
	default:
		program = args[i]
	}
	if message, hint := PackageName(spec); message != "" {
		return fail(specAt, "cannot fetch "+quote(spec), hint)
	}
	key, _ := cutKey(spec)
	p := Package{Manager: m.name, Name: key.Name, Version: key.Version, Tag: key.Tag, Program: program}
	if rest := args[i+1:]; len(rest) > 0 {
		p.Args = slices.Clone(rest)
	}
	return p, nil
}

// PackageName is strict because the text becomes an argument of npx or uvx: a
// leading dash would be read as an option.
func PackageName(s string) (string, string) {
	if _, ok := cutKey(s); ok && len(s) <= MaxKey {
		return "", ""
	}
	return quote(s) + " is not a package name", "write name, @scope/name or name@1.0.0 in lower case"
}
