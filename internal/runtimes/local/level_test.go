package local_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/runtimes/local"
)

// What is asked for is a minimum, and the best level of the machine is used.
func TestChoose(t *testing.T) {
	const off, auto, landlock, full = expert.SandboxOff, expert.SandboxAuto, expert.SandboxLandlock, expert.SandboxFull
	why := errors.New("an old kernel")
	for _, c := range []struct{ offered, wanted, want expert.SandboxLevel }{
		{full, "", ""}, {full, off, off}, {full, auto, full}, {full, landlock, full}, {full, full, full},
		{landlock, off, off}, {landlock, auto, landlock}, {landlock, landlock, landlock}, {landlock, full, "refused"}, {landlock, "later", "refused"},
		{off, "", ""}, {off, off, off}, {off, auto, "refused"}, {off, landlock, "refused"}, {off, full, "refused"},
	} {
		got, err := local.Offer{Level: c.offered, Why: why}.Choose(c.wanted)
		if err != nil {
			got = "refused"
			var level *local.LevelError
			if !errors.As(err, &level) || !errors.Is(err, why) || strings.Contains(err.Error(), "offers level") != (c.offered == landlock) {
				t.Errorf("%+v: %v", c, err)
			}
		}
		if got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// A sandbox that is not the best one says what it leaves open.
func TestLacks(t *testing.T) {
	why := errors.New("an old kernel")
	for _, c := range []struct {
		offer local.Offer
		want  []string
		not   string
	}{
		{local.Offer{Level: expert.SandboxFull}, nil, "level"},
		{local.Offer{Level: expert.SandboxLandlock, Why: why}, []string{"level landlock (an old kernel)", "env files", "perstack.toml", "git"}, "signal"},
		{local.Offer{Level: expert.SandboxLandlock, Why: why, SharesSignals: true}, []string{"env files", "signal other programs"}, "\n"},
	} {
		got := c.offer.Lacks()
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%+v: %q, want %q", c.offer, got, want)
			}
		}
		if strings.Contains(got, c.not) {
			t.Errorf("%+v: %q", c.offer, got)
		}
	}
}

func TestNeeded(t *testing.T) {
	const auto, landlock, full = expert.SandboxAuto, expert.SandboxLandlock, expert.SandboxFull
	quiet := func(others ...*expert.Skill) *expert.Expert {
		return &expert.Expert{Skills: append(others, &expert.Skill{Name: expert.BaseSkill, Type: expert.StdioSkill, BuiltIn: true, Omit: []string{expert.ExecTool}})}
	}
	server := func(level expert.SandboxLevel) *expert.Skill {
		return &expert.Skill{Name: "s", Type: expert.StdioSkill, Sandbox: level}
	}
	for name, c := range map[string]struct {
		expert *expert.Expert
		level  expert.SandboxLevel
		want   expert.SandboxLevel
	}{
		"nothing said":         {&expert.Expert{}, "", ""},
		"an undeclared base":   {&expert.Expert{}, auto, auto},
		"off":                  {&expert.Expert{}, expert.SandboxOff, ""},
		"no programs":          {quiet(), full, ""},
		"a remote skill":       {quiet(&expert.Skill{Name: "r", Type: expert.HTTPSkill}), full, ""},
		"a server":             {quiet(server("")), landlock, landlock},
		"a server that asks":   {quiet(server(landlock)), expert.SandboxOff, landlock},
		"asks for more":        {quiet(server(full), server("")), auto, full},
		"asks for less":        {quiet(server(landlock)), full, full},
		"more than the best":   {quiet(server(landlock)), auto, landlock},
		"commands beside that": {&expert.Expert{Skills: []*expert.Skill{server(landlock)}}, "", landlock},
	} {
		if got := local.Needed([]*expert.Expert{quiet(), c.expert}, c.level); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
