package node

import (
	"os"
	"strings"
	"testing"
)

// What other tests count on is there, and PATH leads to our Node first.
func TestComponents(t *testing.T) {
	c := Need(t)
	for _, path := range []string{c.Node(), c.Inspector(), c.Script(Everything), c.Script(Filesystem), c.Script(Memory), c.Script(Thinking)} {
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			t.Errorf("%s: %v", path, err)
		}
	}
	if v := c.Version(t, Everything); strings.Count(v, ".") != 2 {
		t.Errorf("the version of %s is %q", Everything, v)
	}
	variables := strings.Join(c.Variables("/bin"), "\n")
	if !strings.HasPrefix(variables, "PATH="+c.nodeDir()) || !strings.Contains(variables, "npm_config_offline=true") {
		t.Errorf("the variables are\n%s", variables)
	}
}
