package manifest

import (
	"slices"
	"strings"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/env"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
)

// checkVariable says why a skill may not have a variable while this provider is in use;
// empty means the default one.
func checkVariable(name, provider string) (message, hint string) {
	if provider == "" {
		provider = job.DefaultProvider
	}
	upper := strings.ToUpper(name)
	switch {
	case env.Protected(name):
		return wording.Quote(name) + " is protected", "the runtime sets it; remove it"
	case strings.HasPrefix(upper, "PERSTACK_"):
		return wording.Quote(name) + " belongs to perstack itself", "skills cannot have it; remove it"
	case slices.Contains(model.KeyEnv(provider), upper):
		return wording.Quote(name) + " is the key of provider " + provider, "skills cannot have it; give the skill a key of its own under another name"
	case !expert.ValidVariable(name):
		return wording.Quote(name) + " is not a variable name", "use letters, digits and _"
	}
	return "", ""
}

// RefusedEnv lists the variables in requiredEnv of all skills that no skill may have
// while this provider is in use; empty means the default one. Parse has asked the same
// about the provider of the file; a flag may name another, and an Expert need not come from a file.
func RefusedEnv(e *expert.Expert, provider string) expert.VariableProblems {
	return e.CheckEnv(func(name string) (string, string) { return checkVariable(name, provider) })
}

// ProviderKeys lists the variables in requiredEnv that hold a key of a provider, of any:
// which of them is in use is for the file to say, and the file may be a stranger's.
func ProviderKeys(s *expert.Skill) (keys []string) {
	for _, name := range s.RequiredEnv {
		isKey := slices.ContainsFunc(model.Providers(), func(p string) bool {
			return slices.Contains(model.KeyEnv(p), strings.ToUpper(name))
		})
		if isKey && !slices.Contains(keys, name) {
			keys = append(keys, name)
		}
	}
	return keys
}
