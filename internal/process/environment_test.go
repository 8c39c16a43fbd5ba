package process

import (
	"os"
	"testing"
)

// A secret is read once: afterwards nothing in the process finds it in the environment.
func TestForget(t *testing.T) {
	names := map[string]bool{"PERSTACK_TEST_KEY": false, "PERSTACK_TEST_EMPTY": false, "TZ": true, "https_proxy": true, "NO_PROXY": true}
	var environ []string
	for name := range names {
		t.Setenv(name, "canary")
		environ = append(environ, name+"=canary")
	}
	Forget(environ)
	for name, stays := range names {
		if value, ok := os.LookupEnv(name); ok != stays || stays && value != "canary" {
			t.Errorf("%s is %q, %t", name, value, ok)
		}
	}
}
