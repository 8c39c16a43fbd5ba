//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// skills measures what MCP servers cost before the first request: all of their start
// without a lockfile, and next to nothing with one. The servers are small Go programs,
// which start about as fast as any program can; one that runs in Node takes longer, and
// then the lockfile saves more.
func skills(ctx context.Context, dir string, p programs) ([]figure, error) {
	refusing, stop, err := serve("[[turn]]\n[turn.error]\nstatus = 400\ntype = \"invalid_request_error\"\nmessage = \"no\"\n")
	if err != nil {
		return nil, err
	}
	defer stop()
	bare := "[experts.bench]\ninstruction = \"Work.\"\n"
	var trials []trial
	for _, k := range []struct {
		name, file string
		install    bool
	}{{"none", bare, false}, {"unlocked", bare + threeServers(p.server), false}, {"locked", bare + threeServers(p.server), true}} {
		dir := filepath.Join(dir, "skills", k.name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(dir, "perstack.toml"), []byte(k.file), 0o600); err != nil {
			return nil, err
		}
		if k.install {
			install := exec.CommandContext(ctx, p.perstack, "install")
			install.Dir, install.Env = dir, []string{"HOME=" + p.home, "PATH=" + os.Getenv("PATH")}
			if out, err := install.CombinedOutput(); err != nil {
				return nil, fmt.Errorf("%s: %w\n%s", install, err, out)
			}
		}
		trials = append(trials, trial{1, run(ctx, dir, p, refusing)})
	}
	rounds, err := p.compared(ctx, 30, trials...)
	if err != nil {
		return nil, err
	}
	best := least(rounds)
	none, unlocked, locked := best[0], best[1], best[2]
	return []figure{
		{"time to the first request with three locked skills, to none", locked.longer(none), 1.5, "%.2f"},
		{"CPU up to the first request with three locked skills, to none", locked.times(none), 1.5, "%.2f"},
		{"time to the first request with a lockfile, to without", locked.longer(unlocked), 0.75, "%.2f"},
	}, nil
}

func threeServers(program string) string {
	var b strings.Builder
	for _, name := range []string{"one", "two", "three"} {
		fmt.Fprintf(&b, "[experts.bench.skills.%s]\ntype = \"mcpStdioSkill\"\ncommand = %q\nargs = [\"good\"]\ntoolPrefix = true\n", name, program)
	}
	return b.String()
}
