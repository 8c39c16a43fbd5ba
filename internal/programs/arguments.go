package programs

import (
	"bytes"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/internal/userfile"
)

// A candidate is a path on a command line that can be a program.
type candidate struct {
	path    string
	certain bool // it is one, even if nothing is there yet
	operand bool // it is what an interpreter is given: any file is a script
	dir     bool // it can be a directory
	isGo    bool // which is compiled by Go
}

// A reading is what a command line says about the code that it starts.
type reading struct {
	isThere func(path string) bool // whether there is a file or directory at a path
	dir     string                 // where relative paths start; "" for the workspace

	paths     []candidate // that can name code; other arguments are data, and must stay writable
	scripts   []string    // those of them that an interpreter is given
	manifests []manifest
	loaders   []Loader
	node      bool // Node runs a script of it
}

// A Loader is a program that finds code by itself.
type Loader struct{ Name, Does string }

// String says why the code of a skill is not fully pinned.
func (l Loader) String() string {
	return l.Name + " " + l.Does + ": code that is not compared can be part of it"
}

func (r *reading) add(all ...candidate) {
	for i := range all {
		all[i].path = r.at(all[i].path)
	}
	r.paths = append(r.paths, all...)
}

// at returns a path of the command line as seen from the workspace.
func (r *reading) at(path string) string {
	if r.dir == "" || filepath.IsAbs(path) {
		return path
	}
	return r.dir + string(filepath.Separator) + path
}

func (r *reading) areThere(all []candidate) bool {
	return slices.ContainsFunc(all, func(c candidate) bool { return r.isThere(r.at(c.path)) })
}

// read reads a command line.
func (r *reading) read(argv []string) {
	if argv = r.unwrap(argv); len(argv) == 0 {
		return
	}
	if hasSeparator(argv[0]) {
		r.add(candidate{path: argv[0], certain: true})
		r.node = r.node || slices.Contains([]string{".js", ".cjs", ".mjs"}, filepath.Ext(argv[0]))
	}
	name := programName(argv[0])
	run, isRunner := runners[name]
	kind := interpreterOf(argv[0])
	before := len(r.scripts)
	home := r.dir          // where a runner looks for its manifests
	open := kind != ""     // the script is still to come
	verb := run.does != "" // as in "uv run x": the first word is no path
	for i := 1; i < len(argv); i++ {
		arg := argv[i]
		flag, value, joined := strings.Cut(arg, "=")
		hasNext := i+1 < len(argv)
		switch {
		case arg == "":
		case open && kind == "python" && isModuleFlag(arg) && (hasNext || !strings.HasSuffix(arg, "m")):
			module := strings.TrimPrefix(arg, "-m")
			if strings.HasSuffix(arg, "m") {
				i++
				module = argv[i]
			}
			found := moduleFiles(module)
			if r.areThere(found) {
				r.loaders = append(r.loaders, Loader{name + " -m", "imports modules of the workspace"})
			}
			r.add(found...)
			open = false
		case open && isText(name, flag):
			r.loaders = append(r.loaders, Loader{name + " " + flag, "starts what the text after it says"})
			open = false
			if name == "cmd" {
				r.read(argv[i+1:])
				return
			}
			if !joined {
				i++
			}
		case joined && !strings.HasPrefix(arg, "-") && !r.isThere(r.at(arg)): // as in "make SERVER=x.js"
			r.add(candidate{path: value, certain: IsCodeName(value)})
		case !strings.HasPrefix(arg, "-"):
			if verb {
				verb = false
				if slices.Contains(verbs, arg) {
					continue
				}
			}
			if run.wraps && isKnown(arg) {
				r.finish(name, run, home, before)
				r.read(argv[i:])
				return
			}
			found := operand(kind, arg, open)
			if open && (IsCodeName(arg) || r.areThere(found)) {
				r.script(found)
				open = false
			}
			r.add(found...)
		case isRunner && (open || kind == "") && slices.Contains(run.flags, flag) && (joined || hasNext):
			if !joined {
				i++
				value = argv[i]
			}
			home = r.at(value)
			r.manifests = append(r.manifests, manifest{from: filepath.Dir(home), names: []string{filepath.Base(value)}})
		case (open || isRunner && kind == "") && isDirFlag(flag) && (joined || hasNext):
			if !joined {
				i++
				value = argv[i]
			}
			r.add(candidate{path: value, certain: joined && IsCodeName(value), dir: true})
			if isRunner {
				home = r.at(value)
				if flag != "--project" {
					r.dir = home
				}
			}
		case joined:
			c := candidate{path: value, certain: IsCodeName(value)}
			r.add(c)
			if kind == "node" && isLoaderFlag(flag) && c.certain {
				r.scripts = append(r.scripts, r.at(value))
			}
		case arg == "--" && kind == "": // the rest is for what the runner starts
			isRunner = false
		case open && name == "node" && arg == "--run":
			r.finish(name+" "+arg, runners["npm"], home, before)
			return
		case hasNext && open && kind == "node" && isLoaderFlag(arg): // the script is still to come
			i++
			found := candidate{path: argv[i], certain: IsCodeName(argv[i]), operand: true, dir: true}
			if found.certain || r.areThere([]candidate{found}) {
				r.scripts = append(r.scripts, r.at(argv[i]))
			}
			r.add(found)
		}
	}
	r.finish(name, run, home, before)
}

// script notes what an interpreter is given: the first of some paths that is there.
func (r *reading) script(found []candidate) {
	for _, c := range found {
		if path := r.at(c.path); c.certain || r.isThere(path) {
			r.scripts = append(r.scripts, path)
			return
		}
	}
}

// operand returns what an argument without a dash can name.
func operand(kind, arg string, open bool) []candidate {
	certain := IsCodeName(arg)
	switch {
	case !open:
		return []candidate{{path: arg, certain: certain}}
	case kind == "modules": // as in "uvicorn app:app"
		name, _, _ := strings.Cut(arg, ":")
		return append(moduleFiles(name), candidate{path: arg, certain: certain})
	}
	// As in "go run ./server", and "node server" for server.js.
	all := []candidate{{path: arg, certain: certain || hasSeparator(arg), operand: true, dir: true, isGo: kind == "go"}}
	if kind == "node" && !certain {
		for _, end := range []string{".js", ".cjs", ".mjs", ".json", ".node"} {
			all = append(all, candidate{path: arg + end, operand: true})
		}
	}
	return all
}

// isModuleFlag reports whether a flag of Python names a module, as -m, -Im and -mname do.
func isModuleFlag(flag string) bool {
	return strings.HasPrefix(flag, "-m") || isCluster(flag, "bBdEiIOPqsSuvxm") && strings.HasSuffix(flag, "m")
}

// isCluster reports whether a flag is one dash and some of these letters.
func isCluster(flag, letters string) bool {
	return len(flag) > 1 && flag[0] == '-' && strings.Trim(flag[1:], letters) == ""
}

// moduleFiles returns the files of a module that Python can import from its working directory.
func moduleFiles(name string) []candidate {
	path := strings.ReplaceAll(name, ".", string(filepath.Separator))
	first, _, _ := strings.Cut(name, ".")
	return []candidate{
		{path: path + ".py", operand: true},
		{path: filepath.Join(path, "__main__.py"), operand: true},
		{path: first, dir: true},
	}
}

// programName returns the name of a program without its directory, ending and version.
func programName(program string) string {
	name := strings.ToLower(filepath.Base(program))
	for _, end := range []string{".exe", ".cmd", ".bat"} {
		name = strings.TrimSuffix(name, end)
	}
	return strings.TrimRight(name, "0123456789.-")
}

// interpreterOf returns the kind of a program that runs the code it is given: node, python, go,
// modules for a server that imports modules of Python, or other; "" for a program that is not known
// to do so.
func interpreterOf(program string) string {
	switch programName(program) {
	case "node", "nodejs", "tsx", "ts-node", "ts-node-esm", "bun", "bunx", "deno":
		return "node"
	case "python", "pythonw", "pypy", "py", "uv", "uvx", "pipx", "poetry", "pdm", "pipenv", "rye":
		return "python"
	case "uvicorn", "gunicorn", "hypercorn", "daphne", "granian", "flask":
		return "modules"
	case "go":
		return "go"
	case "ruby", "perl", "php", "lua", "luajit", "java", "javaw", "dotnet", "cargo", "sh", "bash", "zsh", "dash", "ash", "ksh", "fish",
		"pwsh", "powershell", "cmd", "julia", "rscript", "elixir", "mix", "swift", "kotlin", "scala", "tclsh", "osascript",
		"wasmtime", "wasmer", "xargs":
		return "other"
	}
	return ""
}

// isKnown reports whether a word of a command line is a program that is looked into.
func isKnown(word string) bool {
	_, isRunner := runners[programName(word)]
	_, isWrapper := wrappers[programName(word)]
	return isRunner || isWrapper || interpreterOf(word) != ""
}

// isText reports whether the code of an interpreter is the text after a flag.
func isText(name, flag string) bool {
	short := len(flag) > 1 && flag[0] == '-' && flag[1] != '-'
	switch name {
	case "sh", "bash", "zsh", "dash", "ash", "ksh", "fish":
		return short && strings.Contains(flag, "c")
	case "python", "pythonw", "pypy", "py":
		return isCluster(flag, "bBdEiIOPqsSuvxc") && strings.HasSuffix(flag, "c")
	case "node", "nodejs", "tsx", "ts-node", "bun":
		return slices.Contains([]string{"-e", "--eval", "-p", "--print", "-pe"}, flag)
	case "perl", "ruby":
		return isCluster(flag, "nlpawsie0E") && strings.HasSuffix(strings.ToLower(flag), "e")
	case "lua", "luajit", "julia", "rscript", "elixir", "osascript":
		return slices.Contains([]string{"-e", "-E", "--eval"}, flag)
	case "php":
		return flag == "-r"
	case "deno":
		return flag == "eval"
	case "cmd":
		return strings.EqualFold(flag, "/c") || strings.EqualFold(flag, "/k")
	case "pwsh", "powershell":
		return short && slices.Contains([]string{"-c", "-command", "-e", "-ec", "-encodedcommand"}, strings.ToLower(flag))
	}
	return false
}

// ignoresVariables reports whether a command line tells Python to ignore its variables (-I, -E). Then
// PYTHONPYCACHEPREFIX does not keep it from compiled code beside the program.
func ignoresVariables(argv []string) bool {
	return slices.ContainsFunc(argv, func(arg string) bool {
		return len(arg) > 1 && arg[0] == '-' && arg[1] != '-' && strings.ContainsAny(arg, "IE")
	})
}

// IsPython reports whether a command line runs Python.
func IsPython(argv []string) bool {
	argv = new(reading).unwrap(argv)
	return len(argv) > 0 && interpreterOf(argv[0]) == "python"
}

func isDirFlag(flag string) bool {
	return slices.Contains([]string{"--directory", "--project", "--prefix", "--cwd", "--dir", "-C", "--chdir", "--app-dir", "--working-directory"}, flag)
}

// isLoaderFlag reports whether a flag of Node names code that is loaded before the script.
func isLoaderFlag(flag string) bool {
	return slices.Contains([]string{"-r", "--require", "--import", "--loader", "--experimental-loader", "--preload"}, flag)
}

// codeEndings are the endings of files that are code, whichever program reads them.
var codeEndings = strings.Fields(`
	.js .mjs .cjs .jsx .ts .mts .cts .tsx .node .wasm .py .pyw .pyc .pyo .pyd .pyz .pth .whl .egg .rb .pl .pm .php .phar .lua .sh .bash .zsh .fish .ps1 .bat .cmd
	.exe .dll .so .dylib .jar .class .war .go .rs .swift .kts .groovy .jl .r .ex .exs .erl .tcl .awk .applescript`)

// IsCodeName reports whether an interpreter or a loader takes a file for code by the ending of its
// name.
func IsCodeName(path string) bool {
	name := strings.ToLower(filepath.Base(path))
	return slices.Contains(codeEndings, filepath.Ext(name)) || strings.Contains(name, ".so.") // as in libx.so.1
}

func hasSeparator(path string) bool { return strings.ContainsAny(path, `/`+string(filepath.Separator)) }

// isCode reports whether a file can be run by itself.
func isCode(path string, info fs.FileInfo) bool {
	if IsCodeName(path) || info.Mode()&0o111 != 0 {
		return info.Mode().IsRegular()
	}
	f, err := userfile.OpenRegular(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 2)
	_, err = io.ReadFull(f, head)
	return err == nil && bytes.Equal(head, []byte("#!"))
}
