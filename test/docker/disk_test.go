//go:build linux

package docker

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/internal/testkit/probe"
)

// SEC-007: a command fills the disk, with files and with open files that have no name. It is stopped
// at the limit of the file and at the default one, in sandboxes of their own and in a shared one,
// and the third time ends the run. Without a limit that low, the attack works.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	const small = "[sandbox]\ndiskGrowth = \"16MiB\"\n"
	for _, test := range []struct {
		name, config string
		mib          string   // of all files
		flags        []string // of perstack run
		stopped      string   // what the model is told; "" if the attack works
	}{
		{name: "limit", config: small, mib: "64", stopped: "more than 16 MiB added to the disk"},
		{name: "limit in a shared sandbox", config: small, mib: "64", flags: []string{"--shared-sandbox"}, stopped: "more than 16 MiB added to the disk"},
		{name: "default", mib: "4600", stopped: "more than 4 GiB added to the disk"},
		{name: "default in a shared sandbox", mib: "4600", flags: []string{"--shared-sandbox"}, stopped: "more than 4 GiB added to the disk"},
		{name: "control", mib: "64"},
		{name: "control in a shared sandbox", mib: "64", flags: []string{"--shared-sandbox"}},
	} {
		for _, how := range []string{"named", probe.Nameless} {
			t.Run(test.name+", "+how, func(t *testing.T) {
				p := newProject(t, "", map[string]string{"perstack.toml": test.config + worker})
				needSpace(t, p.dir)
				script, times := "", 3
				if test.stopped == "" {
					times = 1 // it takes seconds
				}
				for i := range times {
					script += "[[turn]]\n" + command(t, "./probed", "keep", how, fmt.Sprintf("large-%d", i), test.mib)
				}
				p.serve(script + "[[turn]]\ntext = \"Done.\"\n")
				out := p.run(append([]string{"worker", "go", "--job-id", p.job()}, test.flags...)...)
				kept := strings.Contains(out.stdout, "kept "+test.mib+" MiB")
				if test.stopped == "" {
					if out.must(t, 0); !kept {
						t.Errorf("the attack does not work without a limit: %s", tail(out.stdout, 2000))
					}
					return
				}
				if out.must(t, 3); kept || !strings.Contains(out.stdout, test.stopped) {
					t.Errorf("a command could fill the disk: %s", tail(out.stdout, 2000))
				}
				var limit string
				for _, e := range out.events {
					if stop, ok := e.Body.(event.StopRunByLimit); ok {
						limit = stop.Limit
					}
				}
				if limit != event.LimitDisk {
					t.Errorf("the run was stopped by the limit %q", limit)
				}
			})
		}
	}
}

// needSpace skips a test that could fill the disk of a small machine.
func needSpace(t *testing.T, dir string) {
	t.Helper()
	const least = 12 << 30
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		t.Fatal(err)
	}
	if free := int64(s.Bavail) * s.Bsize; free < least {
		testkit.Missing(t, fmt.Sprintf("12 GiB of free disk: there are %d MiB", free>>20))
	}
}
