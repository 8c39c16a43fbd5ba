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
}

// candidates returns the paths of a command line that can name code. Other arguments are data, such
// as the database that a server opens, and must stay writable. isThere reports whether there is a
// file or directory at a path, which an interpreter takes for its script.
func candidates(argv []string, isThere func(path string) bool) (all []candidate) {
	if len(argv) == 0 {
		return nil
	}
	if hasSeparator(argv[0]) {
		all = append(all, candidate{path: argv[0], certain: true})
	}
	kind := interpreterOf(argv[0])
	open := kind != "" // the script is still to come
	for i := 1; i < len(argv); i++ {
		arg := argv[i]
		flag, value, joined := strings.Cut(arg, "=")
		switch {
		case arg == "":
		case !strings.HasPrefix(arg, "-"):
			found := operand(kind, arg, open)
			all = append(all, found...)
			open = open && !IsCodeName(arg) && !slices.ContainsFunc(found, func(c candidate) bool { return isThere(c.path) })
		case joined:
			all = append(all, candidate{path: value, certain: IsCodeName(value), dir: isDirFlag(flag)})
		case i+1 < len(argv) && isDirFlag(arg):
			i++
			all = append(all, candidate{path: argv[i], dir: true})
		case i+1 < len(argv) && kind == "node" && isLoaderFlag(arg): // the script is still to come
			i++
			all = append(all, candidate{path: argv[i], certain: IsCodeName(argv[i]), operand: true, dir: true})
		case i+1 < len(argv) && kind == "python" && arg == "-m":
			i++
			all, open = append(all, module(argv[i])...), false
		}
	}
	return all
}

// operand returns what an argument without a dash can name.
func operand(kind, arg string, open bool) []candidate {
	certain := IsCodeName(arg)
	if !open {
		return []candidate{{path: arg, certain: certain}}
	}
	// As in "go run ./server", "node server" for server.js, and "uv run x": the word before it is
	// no path.
	all := []candidate{{path: arg, certain: certain || hasSeparator(arg), operand: true, dir: true}}
	if kind == "node" && !certain {
		for _, end := range []string{".js", ".cjs", ".mjs", ".json", ".node"} {
			all = append(all, candidate{path: arg + end, operand: true})
		}
	}
	return all
}

// module returns the files that python -m can start in its working directory.
func module(name string) []candidate {
	path := strings.ReplaceAll(name, ".", string(filepath.Separator))
	first, _, _ := strings.Cut(name, ".")
	return []candidate{
		{path: path + ".py", operand: true},
		{path: filepath.Join(path, "__main__.py"), operand: true},
		{path: first, dir: true},
	}
}

// interpreterOf returns the kind of a program that runs the code it is given: node, python or
// other; "" for a program that is not known to do so.
func interpreterOf(program string) string {
	name := strings.ToLower(filepath.Base(program))
	for _, end := range []string{".exe", ".cmd", ".bat"} {
		name = strings.TrimSuffix(name, end)
	}
	name = strings.TrimRight(name, "0123456789.-")
	switch name {
	case "node", "nodejs", "tsx", "ts-node", "bun", "bunx", "deno", "npm", "pnpm", "yarn":
		return "node"
	case "python", "pythonw", "pypy", "py", "uv", "uvx", "pipx", "poetry":
		return "python"
	case "ruby", "perl", "php", "lua", "luajit", "java", "javaw", "dotnet", "go", "cargo", "sh", "bash", "zsh", "dash", "ash", "ksh", "fish",
		"pwsh", "powershell", "cmd", "env", "julia", "rscript", "elixir", "mix", "swift", "kotlin", "scala", "tclsh", "osascript",
		"wasmtime", "wasmer", "nohup", "nice", "timeout", "xargs", "stdbuf", "sudo", "doas", "setsid":
		return "other"
	}
	return ""
}

// ignoresVariables reports whether a command line tells Python to ignore its variables (-I, -E). Then
// PYTHONPYCACHEPREFIX does not keep it from compiled code beside the program.
func ignoresVariables(argv []string) bool {
	return slices.ContainsFunc(argv, func(arg string) bool {
		return len(arg) > 1 && arg[0] == '-' && arg[1] != '-' && strings.ContainsAny(arg, "IE")
	})
}

// IsPython reports whether a program runs Python.
func IsPython(program string) bool { return interpreterOf(program) == "python" }

func isDirFlag(flag string) bool {
	return slices.Contains([]string{"--directory", "--project", "--prefix", "--cwd", "--dir", "-C", "--manifest-path", "--chdir"}, flag)
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
