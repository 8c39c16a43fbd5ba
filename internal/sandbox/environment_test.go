package sandbox

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Rows E1 and E3: the safe variables pass, nothing else does.
func TestEnvironmentSafe(t *testing.T) {
	environ := []string{
		"PATH=/bin", "HOME=/home/u", "SHELL=/bin/sh", "TERM=xterm", "LANG=C", "LC_ALL=C", "TZ=UTC", "TMPDIR=/tmp",
		"NO_PROXY=localhost", "http_proxy=http://proxy:3128",
		"HTTPS_PROXY=http://user:pa%40ss@proxy:3128", "ALL_PROXY=user:pass@proxy:1080", "https_proxy=http://a:b@c@d:%zz",
		"ANTHROPIC_API_KEY=sk", "PERSTACK_API_KEY=k", "NODE_PATH=/x", "LD_PRELOAD=/x.so", "SSH_AUTH_SOCK=/s", "AWS_SECRET_ACCESS_KEY=s",
		"LC_CTYPE=C", "EMPTY=", "LANGUAGE=en", "NPM_CONFIG_PROXY=http://p", "PERSTACK_PROXY_URL=http://p", "noequals",
	}
	env, dropped := Environment(environ, nil)
	want := []string{
		"ALL_PROXY=proxy:1080", "HOME=/home/u", "HTTPS_PROXY=http://proxy:3128", "LANG=C", "LC_ALL=C", "NO_PROXY=localhost",
		"PATH=/bin", "SHELL=/bin/sh", "TERM=xterm", "TMPDIR=/tmp", "TZ=UTC", "http_proxy=http://proxy:3128",
	}
	if diff := cmp.Diff(want, env); diff != "" {
		t.Error(diff)
	}
	if dropped != nil {
		t.Errorf("dropped %q", dropped)
	}
	if env, _ := Environment([]string{"TERM=() { :; }; echo hacked"}, nil); len(env) > 0 {
		t.Errorf("a shell function passed: %q", env)
	}
}

// Rows E2, B24, N7: protected names are dropped, in any letter case, and reported.
func TestEnvironmentExtra(t *testing.T) {
	bad := []string{
		"PATH", "Path", "HOME", "SHELL", "NODE_PATH", "NODE_OPTIONS", "node_options", "LD_PRELOAD", "LD_AUDIT", "ld_library_path",
		"DYLD_INSERT_LIBRARIES", "PYTHONPATH", "PYTHONSTARTUP", "PYTHONHOME", "PERL5LIB", "PERL5OPT", "RUBYLIB", "RUBYOPT",
		"BASH_ENV", "ENV", "IFS", "CDPATH", "GIT_SSH_COMMAND", "GIT_EXEC_PATH", "JAVA_TOOL_OPTIONS", "GCONV_PATH",
		"HTTP_PROXY", "https_proxy", "All_Proxy", "no_proxy", "NPM_CONFIG_REGISTRY", "npm_config_script_shell", "PERSTACK_PROXY_URL",
		"GOFLAGS", "PIP_INDEX_URL", "OPENSSL_CONF", "MAKEFLAGS", "TAR_OPTIONS", "RIPGREP_CONFIG_PATH", "DOCKER_HOST", "BASH_FUNC_ls%%", "", "A=B", "A\x00B", "WITH SPACE", "Ünicode", "GLIBC_TUNABLES",
	}
	extra := map[string]string{"FOO": "bar", "DEBUG": "", "LANG": "de", "NUL": "a\x00b"}
	for _, name := range bad {
		extra[name] = "evil"
	}
	env, dropped := Environment([]string{"PATH=/bin", "LANG=C"}, extra)
	if diff := cmp.Diff([]string{"DEBUG=", "FOO=bar", "LANG=de", "PATH=/bin"}, env); diff != "" {
		t.Error(diff)
	}
	want := append(slices.Clone(bad), "NUL")
	slices.Sort(want)
	if diff := cmp.Diff(want, dropped); diff != "" {
		t.Error(diff)
	}
}

func TestWithoutCredentials(t *testing.T) {
	for _, address := range []string{
		"http://u:p@h:1", "u:p@h", "http://u@h/x", "socks5://u:p@[::1]:1080", "http://u:p@h:1/?x=a@b", "http://@", "@", "http://u:p@h@g", "ht tp://u:p@h",
	} {
		got, ok := withoutCredentials(address)
		if ok && (strings.Contains(got, "p@") || strings.Contains(got, "u:")) {
			t.Errorf("withoutCredentials(%q) = %q", address, got)
		}
	}
}
