package expert

import (
	"strings"
	"testing"
)

func TestDomainPattern(t *testing.T) {
	const hint = "write api.example.com or *.example.com, without scheme, port or path"
	for s, want := range map[string]string{
		"api.example.com":                "",
		"*.example.com":                  "",
		"localhost":                      "",
		"a-b.example.com":                "",
		"3com.example":                   "",
		"a.1com":                         `invalid domain pattern "a.1com"; ` + hint, // the proxy would not take it
		strings.Repeat("a", 64) + ".com": `invalid domain pattern "` + strings.Repeat("a", 60) + `…"; ` + hint,
		"*":                              `invalid domain pattern "*"; ` + hint,
		"":                               `invalid domain pattern ""; ` + hint,
		"*.":                             `invalid domain pattern "*."; ` + hint,
		"api.*.com":                      `invalid domain pattern "api.*.com"; ` + hint,
		"example.com:443":                `invalid domain pattern "example.com:443"; ` + hint,
		"https://example.com":            `invalid domain pattern "https://example.com"; ` + hint,
		"example.com.":                   `invalid domain pattern "example.com."; ` + hint,
		"example.com\n":                  `invalid domain pattern "example.com\n"; ` + hint,
		"-a.example":                     `invalid domain pattern "-a.example"; ` + hint,
		"xn--abc.com":                    "punycode domains (xn--) are not allowed; they can look like another name; use an ASCII name",
		"a.XN--abc.com":                  "punycode domains (xn--) are not allowed; they can look like another name; use an ASCII name",
		"*.xn--abc":                      "punycode domains (xn--) are not allowed; they can look like another name; use an ASCII name",
		"аpple.com":                      "domains with other characters than ASCII are not allowed; they can look like another name",
		"127.0.0.1":                      `IP addresses are not allowed: "127.0.0.1"; name the host`,
		"0x7f.0x1":                       `IP addresses are not allowed: "0x7f.0x1"; name the host`,
		strings.Repeat("a.", 130) + "a":  `invalid domain pattern "` + strings.Repeat("a.", 30) + `…"; ` + hint,
	} {
		message, h := domainPattern(s)
		if h != "" {
			message += "; " + h
		}
		if message != want {
			t.Errorf("%q: %s\nwant %s", s, message, want)
		}
	}
}

func TestPackageName(t *testing.T) {
	for s, want := range map[string]bool{
		"x": true, "@scope/x": true, "x@1.0.0": true, "@scope/x@latest": true, "mcp-server_x.y": true,
		"": false, "-y": false, "--call=x": false, "@scope/-x": false, "X": false, "x y": false, "x;y": false,
		"../x": false, "x@": false, "git+https://x.example": false, "x@1.0.0 -y": false, "x\n": false, "file:x": false,
	} {
		if message, _ := packageName(s); (message == "") != want {
			t.Errorf("%q: %q", s, message)
		}
	}
}

func TestProtectedEnv(t *testing.T) {
	for _, s := range []string{
		"PATH", "Path", "home", "LD_PRELOAD", "ld_audit", "DYLD_X", "NODE_OPTIONS", "NODE_PATH", "PYTHONPATH", "PYTHONSTARTUP", "PYTHONHOME",
		"PERL5LIB", "PERL5OPT", "RUBYLIB", "RUBYOPT", "BASH_ENV", "ENV", "IFS", "CDPATH", "GIT_SSH_COMMAND", "JAVA_TOOL_OPTIONS", "GCONV_PATH", "https_proxy", "SHELL",
		"NPM_CONFIG_PROXY", "npm_config_registry", "NPM_CONFIG_SCRIPT_SHELL", "HTTP_PROXY", "LD_AUDIT",
	} {
		if !ProtectedEnv(s) {
			t.Errorf("%s is not protected", s)
		}
	}
	for _, s := range []string{"GITHUB_TOKEN", "EXA_API_KEY", "PATHS", "MY_PATH", "LANG"} {
		if ProtectedEnv(s) {
			t.Errorf("%s is protected", s)
		}
	}
	for _, s := range []string{"PERSTACK_API_KEY", "perstack_api_key", "anthropic_api_key", "", "A=B", "A\x00", "$A", strings.Repeat("A", 256)} {
		if message, _ := requiredEnv("")(s); message == "" {
			t.Errorf("%q is accepted", s)
		}
	}
	for _, s := range []string{"EXA_API_KEY", "a-b", "1A", "OPENAI_API_KEY"} {
		if message, _ := requiredEnv("")(s); message != "" {
			t.Errorf("%q: %s", s, message)
		}
	}
}

func TestNearest(t *testing.T) {
	for word, want := range map[string]string{
		"modle": "model", "Model": "model", "max_steps": "maxSteps", "MAXSTEPS": "maxSteps", "reasoningbudjet": "reasoningBudget",
		"xyz": "", "": "", "m": "", strings.Repeat("model", 50): "",
	} {
		if got := nearest(word, topKeys); got != want {
			t.Errorf("nearest(%q) = %q, want %q", word, got, want)
		}
	}
}
