package docker

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/providers"
	"github.com/perstack-go/perstack/internal/secret"
	"github.com/perstack-go/perstack/job"
)

func TestCheckUpstream(t *testing.T) {
	for name, c := range map[string]struct {
		address string
		environ []string
		refused string // part of the error
		said    string // part of what is logged
	}{
		"none":               {},
		"a usual proxy":      {environ: []string{"https_proxy=http://proxy.corp:3128"}, said: "set PERSTACK_PROXY_URL"},
		"a proxy":            {address: "http://me:hunter22@proxy.corp:3128", said: "through the proxy proxy.corp:3128,"},
		"no URL":             {address: "hunter22@:::", refused: "is not a URL"},
		"another kind":       {address: "socks5://proxy.corp:1080", refused: "the kind socks5"},
		"on this machine":    {address: "http://localhost:3128", refused: "on this machine"},
		"by its old address": {address: "http://0x7f.1:3128", refused: "on this machine"},
		"no port":            {address: "http://me:hunter22@proxy.corp", refused: "PERSTACK_PROXY_URL: the upstream proxy is given without a valid port"},
		"port zero":          {address: "http://me:hunter22@proxy.corp:0", refused: "without a valid port"},
		"a path":             {address: "http://me:hunter22@proxy.corp:3128/way", refused: "PERSTACK_PROXY_URL: the upstream proxy is not given as http://host:port"},
		"a colon in a name":  {address: "http://m%3Ae:hunter22@proxy.corp:3128", refused: "PERSTACK_PROXY_URL: the user name of the upstream proxy must not have a colon"},
	} {
		t.Run(name, func(t *testing.T) {
			var logged bytes.Buffer
			r := &runner{
				parts: engine.Parts{Environ: c.environ, Log: slog.New(slog.NewTextHandler(&logged, nil))},
				model: providers.Bundle{Upstream: c.address},
			}
			err := r.checkUpstream()
			if (err == nil) != (c.refused == "") || err != nil && !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%v", err)
			}
			if got := logged.String(); !strings.Contains(got, c.said) || c.said == "" && got != "" || strings.Contains(got, "hunter22") {
				t.Errorf("logged %q", got)
			}
			if err != nil && strings.Contains(err.Error(), "hunter22") {
				t.Errorf("it shows the password: %v", err)
			}
		})
	}
}

// A proxy that cannot be used is an error of the input, found before the daemon is asked.
func TestRunWithABadUpstream(t *testing.T) {
	spec := job.Spec{JobID: stageJob, Expert: "x", Experts: []*expert.Expert{{Key: "x", Name: "x"}}}
	spec.Complete(providers.Catalogue{})
	_, err := Run(t.Context(), spec, engine.Parts{
		Log: slog.New(slog.DiscardHandler), Secrets: new(secret.Set), Environ: []string{"DOCKER_HOST=ssh://elsewhere"},
		Variables: func(name string) engine.Variable {
			return engine.Variable{Value: map[string]string{"PERSTACK_PROXY_URL": "socks5://proxy.corp:1080", "ANTHROPIC_API_KEY": "sk-test"}[name]}
		},
	})
	failed, ok := errors.AsType[*engine.Error](err)
	if !ok || failed.Kind != engine.KindInput || !strings.Contains(err.Error(), "the kind socks5") {
		t.Errorf("error %v", err)
	}
}
