package test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// HTTPS_PROXY and NO_PROXY of the environment count where PERSTACK_PROXY_URL is not set.
// The proxy refuses, and names in .invalid have no address.
func TestProxyOfTheEnvironment(t *testing.T) {
	for name, c := range map[string]struct {
		variables []string
		asked     bool
	}{
		"HTTPS_PROXY":     {[]string{"HTTPS_PROXY="}, true},
		"lower case":      {[]string{"https_proxy="}, true},
		"NO_PROXY":        {[]string{"NO_PROXY=nobody.invalid", "HTTPS_PROXY="}, false},
		"HTTP_PROXY":      {[]string{"HTTP_PROXY="}, false}, // it is for what is not encrypted
		"perstack's own":  {[]string{"HTTPS_PROXY=http://127.0.0.1:1", "NO_PROXY=nobody.invalid", "PERSTACK_PROXY_URL="}, true},
		"none of the two": {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var asked []string
			proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				asked = append(asked, r.Method+" "+r.Host)
				w.WriteHeader(http.StatusForbidden)
			}))
			defer proxy.Close()
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "perstack.toml"), []byte("[experts.writer]\ninstruction = \"Write.\"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("perstack", "run", "writer", "go", "--provider", "deepseek", "--max-retries", "0", "--output", "text")
			cmd.Dir = dir
			cmd.Env = []string{"HOME=" + dir, "PERSTACK_SANDBOX=off", "PATH=" + os.Getenv("PATH"), "DEEPSEEK_API_KEY=sk-0123456789abcdef", "DEEPSEEK_BASE_URL=https://nobody.invalid"}
			for _, v := range c.variables {
				if strings.HasSuffix(v, "=") {
					v += proxy.URL
				}
				cmd.Env = append(cmd.Env, v)
			}
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "cannot connect to deepseek") {
				t.Errorf("%v: %s", err, out)
			}
			mu.Lock()
			defer mu.Unlock()
			if (len(asked) > 0) != c.asked || c.asked && asked[0] != "CONNECT nobody.invalid:443" {
				t.Errorf("the proxy was asked %q", asked)
			}
		})
	}
}
