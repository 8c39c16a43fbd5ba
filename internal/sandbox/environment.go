package sandbox

import (
	"cmp"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/internal/env"
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

// safe reports whether a variable of the runtime may be passed on, and with which value.
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

// withoutCredentials removes user and password from the address of a proxy. An address
// that cannot be parsed is not passed on: it might contain a password.
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
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '=' }) {
		return false
	}
	upper := strings.ToUpper(name)
	return !env.Protected(name) && !slices.Contains(protectedNames(), upper) &&
		!slices.ContainsFunc(protectedPrefixes(), func(prefix string) bool { return strings.HasPrefix(upper, prefix) })
}

// protectedPrefixes are families of names in which new dangerous ones keep appearing. They
// go beyond [env.Protected]: a skill may use the values that the user has set, but a
// tool call cannot set them.
func protectedPrefixes() []string {
	return []string{
		"NPM_CONFIG_", "COREPACK_", "PIP_", "UV_", "CARGO_", "GEM_", "BUNDLE_", // where packages come from, and what runs with them
		"PERSTACK_", // ours
		"CORECLR_", "COR_", "DOTNET_STARTUP_HOOKS", "DOTNET_ADDITIONAL_DEPS",
		"LUA_INIT", "OPENSSL_",
	}
}

func protectedNames() []string {
	return []string{
		// Where programs look for their configuration.
		"SYSTEMROOT", "WINDIR", "USERPROFILE", "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "CURL_HOME", "WGETRC", "RIPGREP_CONFIG_PATH",
		// Code that interpreters and compilers load, and options that name some.
		"PYTHONWARNINGS", "PYTHONEXECUTABLE", "LUA_PATH", "LUA_CPATH", "R_PROFILE", "R_PROFILE_USER", "R_ENVIRON", "R_ENVIRON_USER",
		"JAVA_OPTS", "MAVEN_OPTS", "GRADLE_OPTS", "ERL_FLAGS", "ERL_AFLAGS", "ERL_ZFLAGS", "AWKPATH", "AWKLIBPATH", "GTK_MODULES", "GIO_EXTRA_MODULES",
		"GOFLAGS", "RUSTC", "RUSTFLAGS", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "GCC_EXEC_PREFIX", "COMPILER_PATH", "MAKEFLAGS", "GNUMAKEFLAGS", "MFLAGS", "TAR_OPTIONS",
		// Tables that the C library loads, and how it resolves names.
		"LOCALDOMAIN", "RES_OPTIONS", "GETCONF_DIR",
		// Programs that other programs start.
		"EDITOR", "VISUAL", "PAGER", "MANPAGER", "GH_PAGER", "BROWSER", "SSH_ASKPASS", "SUDO_ASKPASS", "SVN_SSH", "RSYNC_RSH", "CVS_RSH",
		// Where connections go, and which certificates they trust.
		"FTP_PROXY", "DOCKER_HOST", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "NODE_TLS_REJECT_UNAUTHORIZED",
		"CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "AWS_CA_BUNDLE", "DENO_CERT", "SSLKEYLOGFILE",
	}
}

// LookPath finds the file of a program in the PATH that the child will have; see
// [Environment]. A name with a separator is left for the kernel to resolve in the working
// directory.
//
// Relative entries of PATH are skipped: with "." in it, a file of the workspace would run
// in place of a program of the system.
func LookPath(program string, env []string) (string, error) {
	if strings.ContainsFunc(program, func(r rune) bool { return r < 0x80 && os.IsPathSeparator(uint8(r)) }) {
		return withExtension(program)
	}
	var found error
	for _, dir := range filepath.SplitList(Variable(env, "PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		path, err := executable(filepath.Join(dir, program))
		if err == nil {
			return path, nil
		}
		found = cmp.Or(found, err)
	}
	return "", fmt.Errorf("%w: %q", cmp.Or(found, ErrNotFound), program)
}

// Variable returns the value of a variable; "" if it is not set.
func Variable(env []string, name string) string {
	for _, kv := range env {
		if k, v, _ := strings.Cut(kv, "="); sameVariable(k, name) {
			return v
		}
	}
	return ""
}
