//go:build unix

package main

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/perstack-go/perstack/internal/testkit/llm"
)

// project is a directory with one Expert.
func project(dir string) error {
	return os.WriteFile(filepath.Join(dir, "perstack.toml"), []byte("maxSteps = 1000\n[experts.bench]\ninstruction = \"Work.\"\n"), 0o644)
}

// programs are the binaries that are measured and compared with.
type programs struct {
	perstack, perstackd, oneline, bare, meter, jobs, server, atLevel string
	home                                                             string // of the user who runs them, outside of all workspaces
}

func buildAll(ctx context.Context, dir string) (p programs, err error) {
	for pkg, path := range map[string]*string{
		"./cmd/perstack": &p.perstack, "./cmd/perstackd": &p.perstackd, "./bench/oneline": &p.oneline, "./bench/bare": &p.bare, "./bench/meter": &p.meter,
		"./bench/jobs": &p.jobs, "./internal/testkit/evil/evilmcp": &p.server, "./internal/testkit/atlevel/atleveld": &p.atLevel,
	} {
		if *path, err = build(ctx, dir, pkg); err != nil {
			return p, err
		}
	}
	p.home = filepath.Join(dir, "home")
	return p, os.Mkdir(p.home, 0o700)
}

// startUp measures what a user waits for before anything happens.
func startUp(ctx context.Context, dir string, p programs) ([]figure, error) {
	// The server refuses the first request for good, so the process ends after it.
	refusing, stop, err := serve("[[turn]]\n[turn.error]\nstatus = 400\ntype = \"invalid_request_error\"\nmessage = \"no\"\n")
	if err != nil {
		return nil, err
	}
	defer stop()
	providers, stop, err := firstRequests(ctx, dir, p)
	if err != nil {
		return nil, err
	}
	defer stop()
	rounds, err := p.compared(ctx, 30, append([]trial{
		{0, func() *exec.Cmd { return exec.CommandContext(ctx, p.oneline) }},
		{0, func() *exec.Cmd { return exec.CommandContext(ctx, p.perstack, "--version") }},
		{1, run(ctx, dir, p, refusing)},
	}, providers...)...)
	if err != nil {
		return nil, err
	}
	all := least(rounds)
	line, version, first := all[0], all[1], all[2]
	expensive := slices.MaxFunc(all[3:], func(a, b cost) int { return cmp.Compare(a.cpu, b.cpu) })

	answering, stop, err := serve("[[turn]]\ntext = \"Done.\"\n")
	if err != nil {
		return nil, err
	}
	defer stop()
	one, err := p.measured(ctx, 5, 0, run(ctx, dir, p, answering))
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(p.perstack)
	if err != nil {
		return nil, err
	}
	return []figure{
		{"CPU of perstack --version, to a one-line program", version.times(line), 5, "%.1f"},
		{"CPU up to the first request, to a one-line program", first.times(line), 12, "%.1f"},
		{"the same with the most expensive provider", expensive.times(line), 15, "%.1f"},
		{"memory of a run of one step, MB", one.peak, 40, "%.0f"},
		{"size of the stripped static binary, MB", float64(info.Size()) / (1 << 20), 29.0, "%.1f"},
	}, nil
}

// serve starts a scripted model server.
func serve(script string) (url string, stop func(), err error) {
	s, err := llm.Parse("bench.toml", []byte(script))
	if err != nil {
		return "", nil, err
	}
	url, stop = llm.New(s).Serve()
	return url, stop, nil
}

// run is a run of the Expert against a model server, with its events as JSON.
func run(ctx context.Context, dir string, p programs, url string, flags ...string) func() *exec.Cmd {
	return command(ctx, dir, p, url, append([]string{"bench", "go", "--job-id", "job", "--json"}, flags...)...)
}

// command is a run against a model server, each time with a history of its own.
func command(ctx context.Context, dir string, p programs, url string, args ...string) func() *exec.Cmd {
	return func() *exec.Cmd {
		storage, err := os.MkdirTemp(p.home, "storage-")
		if err != nil {
			storage = p.home // the run says what is wrong
		}
		cmd := exec.CommandContext(ctx, p.perstack, append([]string{"run", "--yes", storageFlag, storage}, args...)...)
		cmd.Dir = dir
		cmd.Env = []string{"HOME=" + p.home, "PATH=" + os.Getenv("PATH"), "ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=" + llm.Key}
		return cmd
	}
}

const storageFlag = "--storage"

// storageOf is where a [command] keeps its history.
func storageOf(job *exec.Cmd) string { return job.Args[slices.Index(job.Args, storageFlag)+1] }
