package expert

import (
	"slices"
	"strings"
)

// A VariableProblem is a variable that a skill asks for and cannot have.
type VariableProblem struct {
	Expert, Skill, Variable string

	Message string // why
	Hint    string // what to do about it
}

// String is one line, for instance
//
//	skill "search": SEARCH_KEY is not set (declared in requiredEnv); set it in the environment or in .env
func (p VariableProblem) String() string {
	return "skill " + quote(p.Skill) + ": " + p.Message + "; " + p.Hint
}

// VariableProblems are all that were found, in the order of the file.
type VariableProblems []VariableProblem

// Err is nil when there are none.
func (ps VariableProblems) Err() error {
	if len(ps) == 0 {
		return nil
	}
	return ps
}

// Error has one line for each. Experts that share a skill share its line.
func (ps VariableProblems) Error() string {
	var lines []string
	for _, p := range ps {
		if line := p.String(); !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// MissingEnv lists the variables in requiredEnv of all skills that are not set, or
// empty. It is called before any skill is started.
func (e *Expert) MissingEnv(get func(name string) string) VariableProblems {
	return e.CheckEnv(func(name string) (message, hint string) {
		if get(name) != "" {
			return "", ""
		}
		return name + " is not set (declared in requiredEnv)", "set it in the environment or in .env"
	})
}

// CheckEnv judges each variable that the skills of e get: judge says why not, or "". The
// built-in base skill gets none.
func (e *Expert) CheckEnv(judge func(name string) (message, hint string)) (found VariableProblems) {
	for _, s := range e.Skills {
		if s.BuiltIn {
			continue
		}
		seen := map[string]bool{}
		for _, name := range s.RequiredEnv {
			message, hint := judge(name)
			if message != "" && !seen[name] {
				found = append(found, VariableProblem{e.Name, s.Name, name, message, hint})
			}
			seen[name] = true
		}
	}
	return found
}
