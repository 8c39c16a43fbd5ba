//go:build linux

// Package npx measures Experts whose skills are packages of npm, for the command bench,
// which prints what it reports: their image is one that only tests can make.
package npx

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perstack-go/perstack/internal/testkit/daemon"
	"github.com/perstack-go/perstack/internal/testkit/node"
)

// calls has each of the three servers answer once, so that each is started: with a lockfile
// none is before that.
const calls = `[[turn]]
[[turn.call]]
tool = "one__get-sum"
args = { a = 40, b = 2 }
[[turn.call]]
tool = "two__list_allowed_directories"
args = {}
[[turn.call]]
tool = "three__read_graph"
args = {}
[[turn]]
text = "Done."
`

// BenchmarkThreeSkills compares a run with three servers in sandboxes of a container, image
// cached, with one that starts the same servers in the local runtime without sandboxes, and with
// one that starts them in the sandboxes of this machine there.
func BenchmarkThreeSkills(b *testing.B) {
	image := daemon.NodeImage(b, daemon.Name(b))
	daemon.RemoveAbove(b, daemon.Need(b), image)
	p := newProject(b, image)
	p.must(b, "install")
	p.give(b)
	p.run(b, "--runtime", "docker") // makes the image
	p.run(b)

	times := map[string][]time.Duration{}
	for b.Loop() {
		for _, way := range []string{"--sandbox=off", "--sandbox=auto", "--runtime=docker"} {
			begin := time.Now()
			p.run(b, strings.Fields(way)...)
			times[way] = append(times[way], time.Since(begin))
		}
	}
	middle := func(way string) float64 {
		all := times[way]
		slices.Sort(all)
		return float64(all[len(all)/2].Microseconds()) / 1000
	}
	b.ReportMetric(0, "ns/op") // of all three together, which says nothing
	b.ReportMetric(middle("--sandbox=off"), "builtin-ms")
	b.ReportMetric(middle("--sandbox=auto"), "sandbox-ms")
	b.ReportMetric(middle("--runtime=docker"), "docker-ms")
}

// A project is an Expert with three skills.
type project struct {
	binary, dir string
	env         []string
}

func newProject(b *testing.B, image string) *project {
	b.Helper()
	home := b.TempDir()
	p := &project{binary: daemon.Binary(b), dir: b.TempDir()}
	p.env = append(p.env, node.Need(b).Variables(os.Getenv("PATH"))...)
	p.env = append(p.env, "HOME="+home, "PERSTACK_CACHE_PATH="+filepath.Join(home, "cache"))
	if at := os.Getenv("DOCKER_HOST"); at != "" {
		p.env = append(p.env, "DOCKER_HOST="+at)
	}
	var config strings.Builder
	fmt.Fprintf(&config, "[docker]\nnodeImage = %q\n[experts.bench]\ninstruction = \"Work.\"\n", image)
	for _, s := range [][2]string{{"one", node.Everything}, {"two", node.Filesystem + "\", \"."}, {"three", node.Memory}} {
		fmt.Fprintf(&config, "[experts.bench.skills.%s]\ntype = \"mcpStdioSkill\"\ncommand = \"npx\"\nargs = [\"-y\", \"%s\"]\ntoolPrefix = true\n", s[0], s[1])
	}
	for name, text := range map[string]string{"perstack.toml": config.String(), "calls.toml": calls} {
		if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	return p
}

// give makes another user the owner of the project, if we are root: a container never runs as root.
func (p *project) give(b *testing.B) {
	b.Helper()
	if os.Getuid() != 0 {
		return
	}
	entries, err := os.ReadDir(p.dir)
	if err == nil {
		err = os.Chown(p.dir, 1000, 1000)
	}
	for _, e := range entries {
		if err == nil {
			err = os.Chown(filepath.Join(p.dir, e.Name()), 1000, 1000)
		}
	}
	if err != nil {
		b.Fatal(err)
	}
}

func (p *project) run(b *testing.B, flags ...string) {
	b.Helper()
	storage, err := os.MkdirTemp(filepath.Dir(p.dir), "history") // a job of one run does not slow the next
	if err != nil {
		b.Fatal(err)
	}
	p.must(b, slices.Concat([]string{"run", "bench", "go", "--json", "--provider", "replay", "--cassette", "calls.toml", "--storage", storage}, flags)...)
}

// must calls perstack, which must do what it is told, every call of a tool included.
func (p *project) must(b *testing.B, args ...string) {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), p.binary, append(args, "--yes")...)
	cmd.Dir, cmd.Env = p.dir, p.env
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil || strings.Contains(string(out), `"isError":true`) {
		b.Fatalf("%s: %v\n%s\n%s", cmd, err, out, errs.String())
	}
}
