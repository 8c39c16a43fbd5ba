package sandbox

import (
	"net/url"
	"slices"
	"strings"
)

// Environment builds the environment of a process: the safe variables of environ, and
// extra without the names that would change how programs are found, loaded or
// connected. Those names are returned as dropped. Both results are sorted.
func Environment(environ []string, extra map[string]string) (env, dropped []string) {
	vars := make(map[string]string)
	for _, kv := range environ {
		name, value, ok := strings.Cut(kv, "=")
		if !ok || value == "" {
			continue
		}
		if value, ok = safe(name, value); ok {
			vars[name] = value
		}
	}
	for name, value := range extra {
		if !settable(name) || strings.ContainsRune(value, 0) {
			dropped = append(dropped, name)
			continue
		}
		vars[name] = value
	}
	for name, value := range vars {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	slices.Sort(dropped)
	return env, dropped
}

// safe reports whether a variable of the runtime may be passed on, and its value.
func safe(name, value string) (string, bool) {
	if strings.HasPrefix(value, "()") {
		return "", false // bash would take it for a function and run what follows
	}
	switch strings.ToUpper(name) {
	case "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY":
		return withoutCredentials(value)
	case "NO_PROXY":
		return value, true
	}
	if slices.Contains([]string{"PATH", "HOME", "SHELL", "TERM", "LANG", "LC_ALL", "TZ", "TMPDIR"}, name) {
		return value, true
	}
	return value, platformSafe(name)
}

// withoutCredentials removes user and password from the address of a proxy. What
// cannot be understood is not passed on: it might be a password.
func withoutCredentials(address string) (string, bool) {
	if !strings.Contains(address, "@") {
		return address, true
	}
	bare := !strings.Contains(address, "://")
	if bare {
		address = "http://" + address
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "", false
	}
	u.User = nil
	address = u.String()
	if strings.Contains(address, "@") {
		return "", false
	}
	if bare {
		address = strings.TrimPrefix(address, "http://")
	}
	return address, true
}

// settable reports whether a name may be given by a tool call, by requiredEnv or by an
// Expert. Names are compared without letter case: Windows ignores it, and some
// programs read both spellings.
func settable(name string) bool {
	if name == "" {
		return false
	}
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c >= 0x7f || c == '=' {
			return false
		}
	}
	upper := strings.ToUpper(name)
	for _, prefix := range protectedPrefixes() {
		if strings.HasPrefix(upper, prefix) {
			return false
		}
	}
	return !slices.Contains(protectedNames(), upper)
}

// protectedPrefixes are families in which new dangerous names keep appearing.
func protectedPrefixes() []string {
	return []string{
		"LD_", "DYLD_", // the dynamic linker loads what they name
		"GIT_",        // hooks, ssh commands, configuration
		"NPM_CONFIG_", // registry, scripts, proxy
		"PERSTACK_",   // ours
		"BASH_FUNC_",  // functions that bash imports
		"CORECLR_", "COR_", "DOTNET_STARTUP_HOOKS",
		"LUA_INIT",
	}
}

func protectedNames() []string {
	return []string{
		// How programs are found, and where they look for their configuration.
		"PATH", "HOME", "SHELL", "PATHEXT", "COMSPEC", "SYSTEMROOT", "WINDIR", "USERPROFILE", "XDG_CONFIG_HOME", "ZDOTDIR",
		// What shells run or how they read.
		"BASH_ENV", "ENV", "IFS", "CDPATH", "SHELLOPTS", "BASHOPTS", "PS4", "PROMPT_COMMAND",
		// Code that interpreters load before the program.
		"NODE_PATH", "NODE_OPTIONS",
		"PYTHONPATH", "PYTHONSTARTUP", "PYTHONHOME", "PYTHONINSPECT", "PYTHONBREAKPOINT", "PYTHONUSERBASE", "PYTHONWARNINGS", "PYTHONEXECUTABLE",
		"PERL5LIB", "PERLLIB", "PERL5OPT", "PERL5DB", "RUBYLIB", "RUBYOPT", "PHPRC", "PHP_INI_SCAN_DIR", "LUA_PATH", "LUA_CPATH",
		"JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH",
		// Code and tables that the C library loads, and how it resolves names.
		"GCONV_PATH", "LOCPATH", "NLSPATH", "GLIBC_TUNABLES", "HOSTALIASES", "LOCALDOMAIN", "RES_OPTIONS", "RESOLV_HOST_CONF", "GETCONF_DIR",
		// Programs that other programs start.
		"EDITOR", "VISUAL", "PAGER", "BROWSER", "LESSOPEN", "LESSCLOSE", "SSH_ASKPASS", "SUDO_ASKPASS", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER",
		// Where connections go, and whom they trust.
		"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "FTP_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
		"NODE_TLS_REJECT_UNAUTHORIZED", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "SSLKEYLOGFILE",
	}
}
