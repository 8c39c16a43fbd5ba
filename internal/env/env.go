// Package env knows the environment of a run: the variables of the process and those of
// env files together, and which of them no skill may set.
//
// It never expands a variable and never prints one: no way of printing an [Env] shows a
// value. Start reading at [Load].
package env

import (
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/internal/userfile"
)

// File is an env file to read. One that was asked for must exist; the
// default ones need not.
type File struct {
	Path     string
	Explicit bool
	NoHome   bool // Path still begins with ~, since HOME is not set
}

// Env is the environment of a run: the process and the env files together. It
// holds secrets, so no way of printing it shows a value. The zero Env is empty.
type Env struct {
	// Behind a function: when a struct holds an Env in a private field, fmt
	// cannot call the methods below and prints what it finds. It follows
	// pointers, but of a function it shows the address only.
	read func() *envVars
}

type envVars struct {
	values  map[string]envValue
	files   []assignment // what the files say, also where something else won
	notices []string
	digests map[string]string
}

// An envValue has source (file and line) and file if a file gave it.
type envValue struct{ value, source, file string }

func (e Env) vars() *envVars {
	if e.read == nil {
		return &envVars{}
	}
	return e.read()
}

// Load merges the variables of the process (as os.Environ lists them) with
// the files. Non-empty variables of the process win over every file, empty ones
// count as absent; of two files the later wins. All broken files are reported
// together.
func Load(process []string, files []File) (Env, error) {
	vars := &envVars{values: map[string]envValue{}, digests: map[string]string{}}
	var errs []error
	for _, f := range files {
		if f.NoHome {
			errs = append(errs, fmt.Errorf("cannot find env file %q: HOME is not set; set it, or write the whole path", f.Path))
			continue
		}
		data, err := userfile.Read(f.Path, maxFile)
		vars.digests[f.Path] = ""
		if err != nil {
			switch {
			case !userfile.Absent(err):
				errs = append(errs, fmt.Errorf("cannot read env file %q: %w", f.Path, err))
			case f.Explicit:
				errs = append(errs, fmt.Errorf("env file %q not found; create it, or correct its path", f.Path))
			}
			continue
		}
		vars.digests[f.Path] = userfile.Digest(data)
		list, err := parseEnv(f.Path, data)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		vars.add(f.Path, list)
		vars.files = append(vars.files, list...)
	}
	for _, entry := range process {
		if name, value, _ := strings.Cut(entry, "="); name != "" && value != "" {
			vars.values[name] = envValue{value: value}
		}
	}
	if len(errs) > 0 {
		return Env{}, errors.Join(errs...)
	}
	return Env{read: func() *envVars { return vars }}, nil
}

// add takes over the assignments of one file, the last one of each name.
func (v *envVars) add(path string, list []assignment) {
	here := map[string]int{}
	for i, a := range list {
		here[a.name] = i
	}
	for i, a := range list {
		if here[a.name] != i {
			continue
		}
		source := fmt.Sprintf("%s:%d", path, a.line)
		if a.cut {
			v.notices = append(v.notices, fmt.Sprintf("%s: %s ends before the #; quote the value to keep the rest", source, a.name))
		}
		if old, ok := v.values[a.name]; ok && old.value != a.value {
			v.notices = append(v.notices, fmt.Sprintf("%s: %s replaces the value of %s", source, a.name, old.source))
		}
		v.values[a.name] = envValue{a.value, source, path}
	}
}

// Get is the value of a variable, or "".
func (e Env) Get(name string) string { return e.vars().values[name].value }

// InFiles yields every variable that the env files set, also those that the process or a
// later file sets to something else: they are secrets all the same.
func (e Env) InFiles() iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for _, a := range e.vars().files {
			if !yield(a.name, a.value) {
				return
			}
		}
	}
}

// File is the env file that a variable comes from; "" if the process set it, or if it is not
// set.
func (e Env) File(name string) string {
	return e.vars().values[name].file
}

// Digests returns the SHA-256 of each file as it was read, in hexadecimal; "" for one that does not
// exist.
func (e Env) Digests() map[string]string { return e.vars().digests }

// Notices are remarks for verbose output, such as two files that disagree.
// They name variables, never values.
func (e Env) Notices() []string {
	return e.vars().notices
}

// String tells how many variables there are and nothing about them.
func (e Env) String() string {
	return fmt.Sprintf("environment of %d variables", len(e.vars().values))
}

// Format is String for every verb, %#v, %d and %x included.
func (e Env) Format(f fmt.State, _ rune) { fmt.Fprint(f, e.String()) }

// LogValue is String, for log/slog.
func (e Env) LogValue() slog.Value { return slog.StringValue(e.String()) }

// maxFile bounds each env file: 1 MiB.
const maxFile = 1 << 20

// protectedEnv are variables that decide which code a program loads, where it
// finds other programs, or through which proxy it speaks.
var protectedEnv = []string{
	"PATH", "HOME", "SHELL", "ENV", "BASH_ENV", "IFS", "CDPATH", "SHELLOPTS", "BASHOPTS", "PS4", "PROMPT_COMMAND", "ZDOTDIR",
	"NODE_PATH", "NODE_OPTIONS", "NODE_REPL_EXTERNAL_MODULE",
	"PYTHONPATH", "PYTHONSTARTUP", "PYTHONHOME", "PYTHONINSPECT", "PYTHONUSERBASE", "PYTHONBREAKPOINT",
	"PERL5LIB", "PERLLIB", "PERL5OPT", "PERL5DB", "RUBYLIB", "RUBYOPT",
	"JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "CLASSPATH", "DOTNET_STARTUP_HOOKS", "LUA_INIT", "PHPRC", "PHP_INI_SCAN_DIR",
	"GCONV_PATH", "GLIBC_TUNABLES", "LOCPATH", "NLSPATH", "HOSTALIASES", "RESOLV_HOST_CONF", "LESSOPEN", "LESSCLOSE", "PATHEXT", "COMSPEC",
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "PERSTACK_PROXY_URL",
}

// protectedPrefixes protect whole families: the dynamic loaders, git (whose
// variables name programs to run), exported shell functions, and npm (whose variables
// name registries, shells and scripts).
var protectedPrefixes = []string{"LD_", "DYLD_", "GIT_", "BASH_FUNC_", "NPM_CONFIG_"}

// Protected reports whether only the runtime may set the variable for
// a skill or a command, in any letter case.
func Protected(name string) bool {
	name = strings.ToUpper(name)
	return slices.Contains(protectedEnv, name) ||
		slices.ContainsFunc(protectedPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}
