package workspace

import "github.com/perstack-go/perstack/internal/filename"

// fold maps the spellings that some file system treats as the same name to one form.
func fold(name string) string { return filename.Fold(name) }

func foldAll(names []string) []string {
	folded := make([]string, len(names))
	for i, name := range names {
		folded[i] = fold(name)
	}
	return folded
}

// isEnvName recognises, by its folded name, a file that by convention holds secrets.
func isEnvName(folded string) bool { return filename.IsEnv(folded) }

// IsEnvFile reports whether tools and containers take a file for an env file by its name.
func IsEnvFile(name string) bool { return isEnvName(fold(name)) }

// isRulesName recognises, by its folded name, a file that decides what perstack runs.
func isRulesName(folded string) bool { return filename.IsRules(folded) }

// isGitName recognises, by its folded name, the directory of a git repository, or the file
// that replaces it.
func isGitName(folded string) bool { return filename.IsGit(folded) }
