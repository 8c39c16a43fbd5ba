package programs

import (
	"slices"
	"strings"
)

// wrappers are the programs that start the command line after their own options, with the options
// that take the next word as their value.
var wrappers = map[string][]string{
	"env":     {"-u", "--unset", "-C", "--chdir", "-a", "--argv0"},
	"timeout": {"-k", "--kill-after", "-s", "--signal"},
	"nice":    {"-n", "--adjustment"},
	"nohup":   nil,
	"setsid":  nil,
	"stdbuf":  {"-i", "--input", "-o", "--output", "-e", "--error"},
	"ionice":  {"-c", "--class", "-n", "--classdata"},
	"time":    {"-f", "--format", "-o", "--output"},
	"sudo":    {"-u", "--user", "-g", "--group", "-h", "--host", "-p", "--prompt", "-C", "--close-from", "-D", "--chdir", "-r", "--role", "-t", "--type", "-T", "--command-timeout", "-R", "--chroot"},
	"doas":    {"-u", "-C"},
}

// unwrap returns the command line that is started in the end; it is empty if there is none.
func (r *reading) unwrap(argv []string) []string {
	for len(argv) > 0 {
		name := programName(argv[0])
		values, ok := wrappers[name]
		if !ok {
			return argv
		}
		if hasSeparator(argv[0]) {
			r.add(candidate{path: argv[0], certain: true})
		}
		argv = r.inner(name, values, argv[1:])
	}
	return nil
}

// inner returns what follows the options of a wrapper.
func (r *reading) inner(name string, values, args []string) []string {
	skip := 0
	if name == "timeout" {
		skip = 1 // the duration
	}
	for i := 0; i < len(args); i++ {
		arg := args[i]
		flag, value, joined := strings.Cut(arg, "=")
		takesNext := !joined && slices.Contains(values, arg) && i+1 < len(args)
		switch {
		case name == "env" && (strings.HasPrefix(arg, "-S") || flag == "--split-string"):
			text := strings.TrimPrefix(arg, "-S")
			if flag == "--split-string" {
				text = value
			}
			rest := args[i+1:]
			if text == "" && len(rest) > 0 {
				text, rest = rest[0], rest[1:]
			}
			return r.inner(name, values, slices.Concat(strings.Fields(text), rest))
		case takesNext || joined && strings.HasPrefix(flag, "-"):
			if takesNext {
				i++
				value = args[i]
			}
			if flag == "--chdir" || name == "env" && flag == "-C" || name == "sudo" && flag == "-D" {
				r.dir = r.at(value)
			}
		case strings.HasPrefix(arg, "-"):
		case joined && (name == "env" || name == "sudo"):
			r.variable(flag, value)
		case skip > 0:
			skip--
		default:
			return args[i:]
		}
	}
	return nil
}

// variable adds the code that a variable names, as in NODE_OPTIONS=--require=./a.js.
func (r *reading) variable(name, value string) {
	isPath := slices.Contains([]string{"PYTHONPATH", "NODE_PATH", "RUBYLIB", "PERL5LIB"}, name)
	for _, word := range strings.FieldsFunc(value, func(c rune) bool { return c == ' ' || c == ':' || c == '=' }) {
		if isPath || IsCodeName(word) {
			r.add(candidate{path: word, certain: IsCodeName(word), dir: isPath})
		}
	}
}
