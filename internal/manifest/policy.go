package manifest

import (
	"bytes"
	"sync"

	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/job"
)

// A Policy is what the administrator of a machine says about approvals, for all users. It can ask
// and deny, and allows nothing.
type Policy struct {
	Approvals job.Rules
	AllowAll  *bool // false refuses to answer all questions with yes
}

var policyKeys = sync.OnceValue(func() []key[Policy] {
	keys := approvalKeys([]string{string(job.Ask), string(job.Deny)}, func(p *Policy) *job.Rules { return &p.Approvals })
	return append(keys, allowAllKey(func(p *Policy) **bool { return &p.AllowAll }))
})

// allowAllKey is the key that forbids the general yes.
func allowAllKey[T any](field func(*T) **bool) key[T] {
	return row("allowAll", "Whether a run can answer all questions with yes.", maybe(), func(v *T, b *bool) { *field(v) = b }).
		without("true").more("by the flag `--allow-all`")
}

// ParsePolicy reads the text of a policy. The result is nil if a problem is an error.
func ParsePolicy(path string, data []byte) (*Policy, toml.Problems) {
	p := &Policy{Approvals: job.Rules{Origin: job.FromSystem}}
	problems := parseOwn(path, data, policyKeys(), p, func(map[string]toml.Position) {})
	if problems.Err() != nil {
		return nil, problems
	}
	return p, problems
}

// parseOwn reads a file that is no perstack.toml.
func parseOwn[T any](path string, data []byte, keys []key[T], v *T, positions func(map[string]toml.Position)) toml.Problems {
	base, root := toml.ReadTree(path, bytes.TrimPrefix(data, []byte("\ufeff")))
	if root == nil {
		return base.Problems
	}
	r := &reader{Reader: base}
	positions(r.Positions(root))
	t := r.Table(root)
	readKeys(r, t, keys, v)
	t.Finish()
	r.Problems.Sort()
	return r.Problems
}
