package base

import (
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
func (s *Skill) explain(p *policy.Policy, command, stderr string, refused []string) (messages []string) {
	if !p.Restricts() {
		return nil
	}
	add := func(h policy.Hint) {
		if message := clean(h.Message); !slices.Contains(messages, message) {
			messages = append(messages, message)
		}
	}
	for _, host := range refused {
		add(policy.Refused(host, command))
	}
	for _, h := range policy.Explain(stderr, p, command) {
		if h.Kind == policy.HintNetwork && len(refused) > 0 && (h.Host == "" || slices.Contains(refused, h.Host)) {
			continue
		}
		add(h)
		if !h.ByProxy {
			s.opts.Report(hintEvent(h))
		}
	}
	return messages
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
func (s *Skill) explainStart(p *policy.Policy, command string, err error) string {
	if !p.Restricts() || !filepath.IsAbs(command) || errors.Is(err, sandbox.ErrInvalid) || errors.Is(err, sandbox.ErrLost) {
		return ""
	}
	for _, h := range policy.Explain("'"+command+"': no such file", p, command) {
		if h.Kind == policy.HintOutside {
			s.opts.Report(hintEvent(h))
			return s.opts.Redact(h.Message)
		}
	}
	return ""
}

func hintEvent(h policy.Hint) event.SandboxHint {
	return event.SandboxHint{Kind: string(h.Kind), Path: h.Path, Host: h.Host, SkillName: event.BaseSkill, Command: h.Command, Message: h.Message}
}
