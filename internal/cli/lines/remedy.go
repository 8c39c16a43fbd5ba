package lines

import (
	"fmt"
	"strconv"

	"github.com/perstack-go/perstack/internal/narrate"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/toml"
)

// Remedies says how to allow what a sandbox blocked: for one run with a flag, and always with a
// line in perstack.toml. The texts come from programs and are not cleaned.
func Remedies(r *narrate.Remedy) (texts []string) {
	if r == nil {
		return nil
	}
	for _, once := range []struct{ flag, value string }{
		{"--allow-domain", r.Domain}, {"--sandbox-read", r.Read}, {"--sandbox-write", r.Write},
	} {
		if once.value != "" {
			texts = append(texts, "allow:  "+terminal.ShellJoin(once.flag, once.value))
		}
	}
	if t := r.Table; t != nil {
		texts = append(texts, fmt.Sprintf("always: allowedDomains = [%s] in [%s]", strconv.Quote(r.Host), toml.PathTo("experts", t.Expert, "skills", t.Skill)))
	}
	return texts
}
