package daemon

import (
	"os"
	"os/exec"
	"testing"

	"github.com/perstack-go/perstack/internal/runtimes/docker/archive"
	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/internal/testkit/node"
)

// NodeImage makes an image that has a real Node, as official ones have, and a few tools.
// It returns the id, by which a perstack.toml can pin it. The Node is the one of npm's
// components ([node.Need]); its libraries are those of this machine. With marks it is an
// image of its own; without, all tests have the same.
func NodeImage(tb testing.TB, marks ...string) string {
	tb.Helper()
	components := node.Need(tb)
	t := newTree(tb, marks...)
	t.basics("node", 1000)
	t.program("/usr/local/bin/node", components.Node())
	if box, err := exec.LookPath("busybox"); err == nil {
		t.program("/bin/busybox", box)
		for _, tool := range []string{"sh", "cat", "ls", "env", "id", "kill", "ps", "nc", "wget"} {
			t.link("/bin/"+tool, "busybox")
		}
		t.text("/usr/bin/README", "The tools are in /bin.\n")
		t.link("/usr/bin/env", "/bin/busybox")
	}
	// Some programs use these; without them it would look like an attack that failed.
	t.dir("/opt", 0o755)
	t.dir("/srv", 0o755)
	t.text("/srv/of-the-image", "everybody may read this\n")
	return t.load(archive.Config{Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin", "NODE_VERSION=22"}})
}

// SquidImage makes an image that has the Squid of this machine, and returns its id. Marks
// are as in [NodeImage].
func SquidImage(tb testing.TB, marks ...string) string {
	tb.Helper()
	squid := ""
	for _, name := range []string{"/usr/sbin/squid", "/usr/bin/squid"} {
		if _, err := os.Stat(name); err == nil {
			squid = name
			break
		}
	}
	if squid == "" {
		testkit.Missing(tb, "squid")
	}
	t := newTree(tb, marks...)
	t.basics("proxy", 13)
	t.program("/usr/sbin/squid", squid)
	for _, dir := range []string{"/usr/share/squid", "/etc/squid"} {
		if _, err := os.Stat(dir); err == nil {
			t.directory(dir)
		}
	}
	// Pages for people, in the one language that Squid falls back to.
	const pages = "/usr/share/squid-langpack/templates"
	if _, err := os.Stat(pages); err == nil {
		t.directory(pages)
	}
	t.dir("/var/run", 0o755)
	t.dir("/var/log/squid", 0o755)
	t.dir("/var/spool/squid", 0o755)
	return t.load(archive.Config{Env: []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}})
}
