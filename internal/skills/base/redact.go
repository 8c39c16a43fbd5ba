package base

import "github.com/perstack-go/perstack/internal/sandbox"

// redactOutput takes secrets out of the parts of an output, before they are joined. Later
// the half of a secret that was cut would stand in the middle of a text, where nobody
// could tell it from another word.
func (s *Skill) redactOutput(o sandbox.Output) sandbox.Output {
	o.Head, o.Tail = []byte(s.opts.Redact(string(o.Head))), []byte(s.opts.Redact(string(o.Tail)))
	return o
}
