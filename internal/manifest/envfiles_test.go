package manifest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/internal/env"
)

func TestEnvFiles(t *testing.T) {
	c := &Config{Dir: "/proj", EnvPath: []string{"a.env", "/abs.env", "~/h.env", "~other"}}
	none := &Config{Dir: "/proj", EnvPath: []string{}}
	for name, got := range map[string][]env.File{
		"default":       EnvFiles("/cwd", "/home", nil, nil),
		"silent":        EnvFiles("/cwd", "/home", nil, &Config{Dir: "/proj"}),
		"file":          EnvFiles("/cwd", "/home", nil, c),
		"flags":         EnvFiles("/cwd", "/home", []string{"f.env", "~"}, c),
		"usual":         EnvFiles("/cwd", "/home", nil, &Config{Dir: "/proj", EnvPath: []string{"./.env", ".env.local", "sub/.env", ".env.prod"}}),
		"usual by flag": EnvFiles("/cwd", "/home", []string{".env", "x.env"}, c),
		"empty":         EnvFiles("/cwd", "/home", nil, none),
		"no home":       EnvFiles("/cwd", "", []string{"~/x", "~other"}, nil),
	} {
		want := map[string][]env.File{
			"default":       {{Path: "/cwd/.env"}, {Path: "/cwd/.env.local"}},
			"silent":        {{Path: "/cwd/.env"}, {Path: "/cwd/.env.local"}},
			"file":          {{Path: "/proj/a.env", Explicit: true}, {Path: "/abs.env", Explicit: true}, {Path: "/home/h.env", Explicit: true}, {Path: "/proj/~other", Explicit: true}},
			"flags":         {{Path: "/cwd/f.env", Explicit: true}, {Path: "/home", Explicit: true}},
			"usual":         {{Path: "/proj/.env"}, {Path: "/proj/.env.local"}, {Path: "/proj/sub/.env", Explicit: true}, {Path: "/proj/.env.prod", Explicit: true}},
			"usual by flag": {{Path: "/cwd/.env"}, {Path: "/cwd/x.env", Explicit: true}},
			"empty":         {},
			"no home":       {{Path: "~/x", Explicit: true, NoHome: true}, {Path: "/cwd/~other", Explicit: true}},
		}[name]
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got)\n%s", name, d)
		}
	}
}
