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
// empty. Whoever starts the skills asks before anything starts.
func (e *Expert) MissingEnv(get func(name string) string) VariableProblems {
	return e.variables(func(name string) (message, hint string) {
		if get(name) != "" {
			return "", ""
		}
		return name + " is not set (declared in requiredEnv)", "set it in the environment or in .env"
	})
}

// RefusedEnv lists the variables in requiredEnv of all skills that no skill may have
// while this provider is in use; empty means the default one. Parse has asked the same
// about the provider of the file; a flag may name another, and an Expert need not come from a file.
func (e *Expert) RefusedEnv(provider string) VariableProblems {
	return e.variables(requiredEnv(provider))
}

// ProviderKeys lists the variables in requiredEnv that hold a key of a provider, of any:
// which of them is in use is for the file to say, and the file may be a stranger's.
func (s *Skill) ProviderKeys() (keys []string) {
	for _, name := range s.RequiredEnv {
		isKey := slices.ContainsFunc(Providers(), func(p string) bool {
			return slices.Contains(ProviderKeyEnv(p), strings.ToUpper(name))
		})
		if isKey && !slices.Contains(keys, name) {
			keys = append(keys, name)
		}
	}
	return keys
}

// variables judges each variable that the skills of e get. The built-in base skill gets none.
func (e *Expert) variables(judge rule) (found VariableProblems) {
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
