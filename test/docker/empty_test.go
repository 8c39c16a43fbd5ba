//go:build linux

package docker

import (
	"strings"
	"testing"
)

// TestNoBaseImage runs a command in a container without a base image: the model and the user
// learn why no program exists, and what to do.
func TestNoBaseImage(t *testing.T) {
	t.Parallel()
	p := newProject(t, "", map[string]string{"perstack.toml": worker})
	p.serve("[[turn]]\n" + command(t, "ls") + "[[turn]]\ntext = \"Done.\"\n")
	o := p.run("worker", "go")
	o.must(t, 0)
	if !strings.Contains(o.stdout, "there are no programs here at all. The user can name an image that has some, with baseImage") {
		t.Errorf("%s", o.stdout)
	}
}
