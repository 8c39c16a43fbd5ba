package env

import (
	"testing"
)

func TestProtectedEnv(t *testing.T) {
	for _, s := range []string{
		"PATH", "Path", "home", "LD_PRELOAD", "ld_audit", "DYLD_X", "NODE_OPTIONS", "NODE_PATH", "PYTHONPATH", "PYTHONSTARTUP", "PYTHONHOME",
		"PERL5LIB", "PERL5OPT", "RUBYLIB", "RUBYOPT", "BASH_ENV", "ENV", "IFS", "CDPATH", "GIT_SSH_COMMAND", "JAVA_TOOL_OPTIONS", "GCONV_PATH", "https_proxy", "SHELL",
		"NPM_CONFIG_PROXY", "npm_config_registry", "NPM_CONFIG_SCRIPT_SHELL", "HTTP_PROXY", "LD_AUDIT",
	} {
		if !Protected(s) {
			t.Errorf("%s is not protected", s)
		}
	}
	for _, s := range []string{"GITHUB_TOKEN", "EXA_API_KEY", "PATHS", "MY_PATH", "LANG"} {
		if Protected(s) {
			t.Errorf("%s is protected", s)
		}
	}
}
