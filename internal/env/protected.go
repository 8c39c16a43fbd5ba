package env

import (
	"slices"
	"strings"
)

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

// Protected reports whether nobody but the runtime may set the variable for
// a skill or a command, in any letter case.
func Protected(name string) bool {
	name = strings.ToUpper(name)
	return slices.Contains(protectedEnv, name) ||
		slices.ContainsFunc(protectedPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}
