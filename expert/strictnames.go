package expert

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// This file holds the rules for names that other programs will interpret:
// packages, commands, domains and environment variables.

// packageName is strict because the text becomes an argument of npx or uvx: a
// leading dash would be read as an option.
func packageName(s string) (string, string) {
	if len(s) <= maxKey && packageGrammar().MatchString(s) {
		return "", ""
	}
	return quote(s) + " is not a package name", "write name, @scope/name or name@1.0.0 in lower case"
}

func command(s string) (string, string) {
	switch {
	case strings.HasPrefix(s, "-"):
		return quote(s) + " is not a program", "name the program to start, like npx"
	case strings.ContainsAny(s, " \t") && !strings.ContainsAny(s, `/\`):
		// Nothing splits a command at blanks: there is no shell.
		return quote(s) + " has blanks in it", "put the arguments into args"
	}
	return noNUL(s)
}

var (
	domainGrammar = sync.OnceValue(func() *regexp.Regexp {
		const label = `([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?` // behind its first character
		return regexp.MustCompile(`^(\*\.)?([a-zA-Z0-9]` + label + `\.)*[a-zA-Z]` + label + `$`)
	})
	envNameGrammar = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_-]*$`) })
	toolGrammar    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`) }) // what all providers accept
)

// domainPattern accepts a host name, or *. before one for its subdomains.
func domainPattern(s string) (string, string) {
	const hint = "write api.example.com or *.example.com, without scheme, port or path"
	for _, label := range strings.Split(strings.ToLower(s), ".") {
		if strings.HasPrefix(label, "xn--") {
			return "punycode domains (xn--) are not allowed", "they can look like another name; use an ASCII name"
		}
	}
	for _, c := range s {
		if c > 127 {
			return "domains with other characters than ASCII are not allowed", "they can look like another name"
		}
	}
	last := s[strings.LastIndexByte(s, '.')+1:]
	if _, number := legacyNumber(strings.ToLower(last)); last != "" && (number || strings.Trim(last, "0123456789") == "") {
		return "IP addresses are not allowed: " + quote(s), "name the host"
	}
	if len(s) > 253 || !domainGrammar().MatchString(s) {
		return "invalid domain pattern " + quote(s), hint
	}
	return "", ""
}

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

// ProtectedEnv reports whether nobody but the runtime may set the variable for
// a skill or a command, in any letter case.
func ProtectedEnv(name string) bool {
	name = strings.ToUpper(name)
	return slices.Contains(protectedEnv, name) ||
		slices.ContainsFunc(protectedPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// ProviderKeyEnv lists the variables that hold the secrets of a provider. They
// are never handed to a skill while that provider is in use.
func ProviderKeyEnv(provider string) []string {
	switch provider {
	case "anthropic":
		return []string{"ANTHROPIC_API_KEY"}
	case "google":
		return []string{"GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"}
	case "openai":
		return []string{"OPENAI_API_KEY"}
	case "azure-openai":
		return []string{"AZURE_API_KEY", "AZURE_OPENAI_API_KEY"}
	case "amazon-bedrock":
		return []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK"}
	case "google-vertex":
		return []string{"GOOGLE_APPLICATION_CREDENTIALS"}
	case "deepseek":
		return []string{"DEEPSEEK_API_KEY"}
	}
	return nil
}

// requiredEnv is the rule for the names in requiredEnv.
func requiredEnv(provider string) rule {
	if provider == "" {
		provider = DefaultProvider
	}
	return func(s string) (string, string) {
		upper := strings.ToUpper(s)
		switch {
		case ProtectedEnv(s):
			return quote(s) + " is protected", "the runtime sets it; remove it"
		case strings.HasPrefix(upper, "PERSTACK_"):
			return quote(s) + " belongs to perstack itself", "skills cannot have it; remove it"
		case slices.Contains(ProviderKeyEnv(provider), upper):
			return quote(s) + " is the key of provider " + provider, "skills cannot have it; give the skill a key of its own under another name"
		case len(s) > 255 || !envNameGrammar().MatchString(s):
			return quote(s) + " is not a variable name", "use letters, digits and _"
		}
		return "", ""
	}
}
