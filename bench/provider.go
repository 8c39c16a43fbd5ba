//go:build unix

package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"

	"github.com/perstack-go/perstack/internal/testkit/llm"
	"github.com/perstack-go/perstack/model"
)

// firstRequests returns a run up to its first request with each provider: one signs its
// requests, one gets a token first. They need a server until stop is called.
func firstRequests(ctx context.Context, dir string, p programs) (trials []trial, stop func(), err error) {
	script, err := llm.Parse("bench.toml", []byte("[[turn]]\n[turn.error]\nstatus = 400\nmessage = \"no\"\n"))
	if err != nil {
		return nil, nil, err
	}
	server := llm.New(script, llm.Forgetting())
	_, stop = server.Serve()
	for _, provider := range model.AllProviders() {
		if provider.Name == "replay" {
			continue
		}
		modelName := cmp.Or(provider.DefaultModel, "gpt-5") // of a deployment
		env := []string{"HOME=" + p.home, "PATH=" + os.Getenv("PATH")}
		for name, value := range llm.Env(provider.Name, server.Root(), dir) {
			env = append(env, name+"="+value)
		}
		t := trial{1, func() *exec.Cmd {
			cmd := command(ctx, dir, p, "", "bench", "go", "--job-id", "job", "--json", "--provider", provider.Name, "--model", modelName)()
			cmd.Env = env
			return cmd
		}}
		before := server.Count()
		if _, err := p.measured(ctx, 1, t.code, t.command); err != nil {
			stop()
			return nil, nil, err
		}
		if server.Count() == before {
			stop()
			return nil, nil, fmt.Errorf("a run with %s sends nothing", provider.Name)
		}
		trials = append(trials, t)
	}
	return trials, stop, nil
}
