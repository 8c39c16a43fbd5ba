package approval

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/job"
)

// The bounds of rules.
const (
	MaxRules    = 500 // of one file
	MaxWords    = 64
	MaxExamples = 50
)

// Describe writes a rule as its keys, without its verdict, on one line. Its words can be those of a
// project, so a word with unusual characters is quoted: none is taken for two, or draws on a terminal.
func Describe(r job.Rule) string {
	var parts []string
	add := func(name string, values ...string) {
		if len(values) == 0 || values[0] == "" {
			return
		}
		words := slices.Clone(values)
		for i, word := range words {
			if word == "" || strings.Trim(word, plainCharacters) != "" {
				words[i] = strconv.Quote(word)
			}
		}
		parts = append(parts, name+" "+strings.Join(words, " "))
	}
	add("tool", r.Tool)
	add("skill", r.Skill)
	add("expert", r.Expert)
	add("command", r.Command...)
	add("with the variables", r.Env...)
	add("path", r.Path)
	add("host", r.Host)
	for _, pointer := range slices.Sorted(maps.Keys(r.Args)) {
		add("argument "+pointer, r.Args[pointer])
	}
	return strings.Join(parts, ", ")
}

// plainCharacters need no quotes.
const plainCharacters = "*:ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./@%+=-"

// Check returns what is wrong with a rule. warning names what is allowed and probably not meant.
func Check(r job.Rule) (warning string, err error) {
	if err := checkFields(r); err != nil {
		return "", err
	}
	if err := checkCommand(r); err != nil {
		return "", err
	}
	if err := checkExamples(r); err != nil {
		return "", err
	}
	if r.Do != job.Allow && len(r.Command) > 0 && !slices.Contains(r.Command, anyWords) {
		return fmt.Sprintf("it matches commands with exactly %d words; ** stands for any words", len(r.Command)), nil
	}
	return "", nil
}

func checkFields(r job.Rule) error {
	switch {
	case !slices.Contains(job.Verdicts(), string(r.Do)):
		return fmt.Errorf("do is %s; write allow, ask or deny", wording.Quote(string(r.Do)))
	case r.Tool == "" && r.Skill == "" && r.Expert == "" && len(r.Command) == 0 && r.Path == "" && r.Host == "" && len(r.Args) == 0:
		return errors.New("it names no call; add tool, skill, expert, command, path, host or args")
	case len(r.Command) > 0 && r.Tool != "" && r.Tool != execTool:
		return fmt.Errorf("command is for the tool exec, and not for %s", wording.Quote(r.Tool))
	case r.Do == job.Allow && len(r.Args) > 0 && len(r.Command) == 0 && matches(&job.Rule{Tool: r.Tool, Skill: r.Skill}, &Request{Tool: execTool, Skill: expert.BaseSkill}):
		// It would allow a shell, and commands with any variables.
		return errors.New("args cannot allow a command; name another tool or skill, or use command")
	case len(r.Env) > 0 && (r.Do != job.Allow || len(r.Command) == 0):
		return errors.New("env is for rules that allow a command")
	case r.Remember != nil && r.Do != job.Ask:
		return errors.New("remember is for rules that ask")
	case len(r.Match)+len(r.NotMatch) > 0 && len(r.Command) == 0:
		return errors.New("match and notMatch are for rules with a command")
	case len(r.Match)+len(r.NotMatch) > MaxExamples:
		return fmt.Errorf("it has more than %d examples", MaxExamples)
	}
	for pointer := range r.Args {
		if !strings.HasPrefix(pointer, "/") {
			return fmt.Errorf("args has %s; write a JSON pointer, like /repo", wording.Quote(pointer))
		}
	}
	return nil
}

func checkCommand(r job.Rule) error {
	if len(r.Command) == 0 {
		return nil
	}
	if len(r.Command) > MaxWords {
		return fmt.Errorf("the command has more than %d words", MaxWords)
	}
	if slices.Contains(r.Command, "") {
		return errors.New("the command has an empty word")
	}
	if r.Do != job.Allow {
		return nil
	}
	program := r.Command[0]
	if i := slices.Index(r.Command, anyWords); i >= 0 && i < len(r.Command)-1 {
		return errors.New("in a rule that allows, ** stands last: words in the middle can change what a command does")
	}
	if strings.ContainsAny(program, "*/\\") {
		return fmt.Errorf("a rule that allows needs the name of one program, and not %s", wording.Quote(program))
	}
	if isNamed(program, launchers) {
		return fmt.Errorf("%s runs other programs, so a rule cannot say what it allows", program)
	}
	return nil
}

// checkExamples tries the examples of a rule.
func checkExamples(r job.Rule) error {
	for i, examples := range [][]string{r.Match, r.NotMatch} {
		for _, example := range examples {
			words, err := SplitCommand(example)
			if err != nil {
				return err
			}
			matches := matchesCommand(&r, &Request{Tool: execTool, Command: words})
			switch {
			case i == 0 && !matches:
				return fmt.Errorf("it does not match %s", wording.Quote(example))
			case i == 1 && matches:
				return fmt.Errorf("it matches %s", wording.Quote(example))
			}
		}
	}
	return nil
}

// matches reports whether a rule is about a request.
func matches(r *job.Rule, q *Request) bool {
	switch {
	case r.Tool != "" && !matchText(r.Tool, q.Tool), r.Skill != "" && !matchText(r.Skill, q.Skill), r.Expert != "" && !matchText(r.Expert, q.Expert):
		return false
	case r.Host != "" && !matchesHost(r.Host, q.Host):
		return false
	case r.Do == job.Allow && q.Class == Escapes && r.Host == "" && r.Path == "":
		return false // a rule about calls does not let programs out of the sandbox
	}
	if len(r.Command) > 0 && !matchesCommand(r, q) || r.Path != "" && !matchesPath(r, q) {
		return false
	}
	for pointer, pattern := range r.Args {
		value, ok := q.argument(pointer)
		if !ok || !matchText(pattern, value) {
			return false
		}
	}
	return true
}

// matchesCommand compares the words of a command. A rule that allows means the program that its
// name leads to on the system, so it matches the plain name alone, and no variables that it does not
// list. Others match the name of the program wherever it lies.
func matchesCommand(r *job.Rule, q *Request) bool {
	if q.Tool != execTool || len(q.Command) == 0 {
		return false
	}
	program := q.Command[0]
	if r.Do != job.Allow {
		program = path.Base(program)
	} else if q.InWorkspace || slices.ContainsFunc(q.Env, func(name string) bool { return !slices.Contains(r.Env, name) }) {
		return false
	}
	if first := r.Command[0]; first != anyWords { // the usual case, and the cheapest
		return matchText(first, program) && matchWords(r.Command[1:], q.Command[1:])
	}
	return matchWords(r.Command, slices.Concat([]string{program}, q.Command[1:]))
}

// matchesPath compares a path. That of a file tool is relative to the workspace, that of a program
// which leaves the sandbox is absolute; a rule that allows is about one of both. A rule that asks or
// denies also matches a call that reaches what it is about from a directory above: to move the
// directory is to move all in it.
func matchesPath(r *job.Rule, q *Request) bool {
	if q.Path == "" || r.Do == job.Allow && path.IsAbs(r.Path) != path.IsAbs(q.Path) {
		return false
	}
	patterns, at := strings.Split(r.Path, "/"), strings.Split(q.Path, "/")
	return matchWords(patterns, at) || q.Whole && r.Do != job.Allow && (q.Path == "." || reaches(patterns, at))
}

// reaches reports whether patterns can match something below a directory.
func reaches(patterns, at []string) bool {
	if n := min(before(patterns), len(at)); !startsWith(at, patterns[:n]) {
		return false
	}
	return len(at) < len(patterns) || slices.Contains(patterns, anyWords)
}

// matchesHost compares a host. A pattern without a port means all ports.
func matchesHost(pattern, at string) bool {
	pattern, at = strings.ToLower(pattern), strings.ToLower(at)
	if at == "" || matchText(pattern, at) {
		return at != ""
	}
	i := strings.LastIndexByte(at, ':')
	return i > 0 && matchText(pattern, strings.Trim(at[:i], "[]"))
}
