package base

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/sandbox/policy"
)

// explain says why a command probably failed, if its sandbox has to do with it: to the Run, and to
// the model, which would try the same in another way otherwise. The proxy has reported the hosts
// that it refused, so the model alone is told of these. A proxy outside of the container does not
// tell this process, which then has to guess.
func (s *Skill) explain(ctx context.Context, p *policy.Policy, argv []string, stderr string, refused []string) (messages []string) {
	if !p.Restricts() {
		return nil
	}
	add := func(text string) {
		if message := clean(text); !slices.Contains(messages, message) {
			messages = append(messages, message)
		}
	}
	for _, host := range refused {
		add(policy.Refused(host, argv[0]).Message)
	}
	outside := asking{skill: s, argv: argv}
	for _, h := range policy.Explain(stderr, p, argv[0]) {
		if h.Kind == policy.HintNetwork && len(refused) > 0 && (h.Host == "" || slices.Contains(refused, h.Host)) {
			continue
		}
		message, opened := outside.ask(ctx, h)
		add(message)
		if !h.ByProxy && !opened {
			s.opts.Report(hintEvent(h))
		}
	}
	return messages
}

// asking asks about the paths outside of the sandbox that one command has named.
type asking struct {
	skill  *Skill
	argv   []string
	denied bool
}

// ask returns what the model is told about a hint, and whether the path can be read from now on. After
// a denial, the other paths of the command are not asked about.
func (a *asking) ask(ctx context.Context, h policy.Hint) (message string, opened bool) {
	if h.Kind != policy.HintOutside || a.denied {
		return h.Message, false
	}
	message, opened = a.skill.opts.Outside(ctx, h.Path, a.argv)
	if message == "" {
		return h.Message, false
	}
	if opened {
		return message, true
	}
	a.denied = true
	return h.Message + ". " + message, false
}

// withoutSecrets returns the lines of an output that redaction left as they are. What is left of a
// path with a secret in it is another path.
func withoutSecrets(raw, redacted string) string {
	if raw == redacted {
		return raw
	}
	unchanged := make(map[string]bool)
	for line := range strings.Lines(raw) {
		unchanged[line] = true
	}
	var kept strings.Builder
	for line := range strings.Lines(redacted) {
		if unchanged[line] {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// explainStart says that a program which did not start is outside the sandbox; "" if it is not. The
// model is not told whether it exists.
func (s *Skill) explainStart(ctx context.Context, p *policy.Policy, argv []string, err error) string {
	command := argv[0]
	if !p.Restricts() || !filepath.IsAbs(command) || errors.Is(err, sandbox.ErrInvalid) || errors.Is(err, sandbox.ErrLost) {
		return ""
	}
	for _, h := range policy.Explain("'"+command+"': no such file", p, command) {
		if h.Kind == policy.HintOutside {
			message, opened := (&asking{skill: s, argv: argv}).ask(ctx, h)
			if !opened {
				s.opts.Report(hintEvent(h))
			}
			return s.opts.Redact(message)
		}
	}
	return ""
}

func hintEvent(h policy.Hint) event.SandboxHint {
	return event.SandboxHint{Kind: string(h.Kind), Path: h.Path, Host: h.Host, SkillName: event.BaseSkill, Command: h.Command, Message: h.Message}
}
