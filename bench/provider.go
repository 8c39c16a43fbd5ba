//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"github.com/perstack-go/perstack/internal/testkit/llm"
)

// providers are all that a run can ask, each with a model that it has.
var providers = []struct{ name, model string }{
	{"anthropic", "claude-sonnet-4-5"}, {"openai", "gpt-5"}, {"google", "gemini-2.5-pro"}, {"google-vertex", "gemini-2.5-pro"},
	{"amazon-bedrock", "anthropic.claude-sonnet-4-5-20250929-v1:0"}, {"azure-openai", "gpt-5"}, {"deepseek", "deepseek-chat"}, {"ollama", "gpt-oss:20b"},
}

// firstRequests measures a run up to its first request with each provider, and returns
// what the dearest costs: one signs its requests, one gets a token first.
func firstRequests(ctx context.Context, dir string, p programs) (dearest cost, err error) {
	script, err := llm.Parse("bench.toml", []byte("[[turn]]\n[turn.error]\nstatus = 400\nmessage = \"no\"\n"))
	if err != nil {
		return dearest, err
	}
	server := llm.New(script, llm.Forgetting())
	_, stop := server.Serve()
	defer stop()
	for _, provider := range providers {
		env := []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}
		for name, value := range llm.Env(provider.name, server.Root(), dir) {
			env = append(env, name+"="+value)
		}
		before := server.Count()
		m, err := p.measured(ctx, 15, 1, func() *exec.Cmd {
			cmd := command(ctx, dir, p, "", "bench", "go", "--job-id", "job", "--json", "--provider", provider.name, "--model", provider.model)()
			cmd.Env = env
			return cmd
		})
		switch {
		case err != nil:
			return dearest, err
		case server.Count() == before:
			return dearest, fmt.Errorf("a run with %s asks nobody", provider.name)
		case m.cpu > dearest.cpu:
			dearest = m
		}
	}
	return dearest, nil
}
