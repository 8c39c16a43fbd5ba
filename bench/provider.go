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

// firstRequests measures a run up to its first request with each provider, and returns
// what the most expensive one costs: one signs its requests, one gets a token first.
func firstRequests(ctx context.Context, dir string, p programs) (highest cost, err error) {
	script, err := llm.Parse("bench.toml", []byte("[[turn]]\n[turn.error]\nstatus = 400\nmessage = \"no\"\n"))
	if err != nil {
		return highest, err
	}
	server := llm.New(script, llm.Forgetting())
	_, stop := server.Serve()
	defer stop()
	for _, provider := range model.AllProviders() {
		if provider.Name == "replay" {
			continue
		}
		modelName := cmp.Or(provider.DefaultModel, "gpt-5") // of a deployment
		env := []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}
		for name, value := range llm.Env(provider.Name, server.Root(), dir) {
			env = append(env, name+"="+value)
		}
		before := server.Count()
		m, err := p.measured(ctx, 15, 1, func() *exec.Cmd {
			cmd := command(ctx, dir, p, "", "bench", "go", "--job-id", "job", "--json", "--provider", provider.Name, "--model", modelName)()
			cmd.Env = env
			return cmd
		})
		switch {
		case err != nil:
			return highest, err
		case server.Count() == before:
			return highest, fmt.Errorf("a run with %s sends nothing", provider.Name)
		case m.cpu > highest.cpu:
			highest = m
		}
	}
	return highest, nil
}
