package server

import (
	"errors"
	"slices"

	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/tlog"
)

// pinDelegates finds out what each delegate means now. That is what it means for this version for ever.
func (t *change) pinDelegates(p *publication, visibility string) (pinned []version, lines []tlog.Delegate, err error) {
	for _, key := range p.d.Delegates {
		k, err := parseKey(key)
		if err != nil {
			return nil, nil, err
		}
		v, err := t.find(p.by, k)
		if answer, ok := errors.AsType[*Error](err); ok && answer.Status == notFoundStatus || v.status == api.Disabled {
			return nil, nil, badRequest("Delegate expert not found: %s", key)
		}
		if err != nil {
			return nil, nil, err
		}
		if visibility == api.Public && v.visibility == api.Private {
			return nil, nil, badRequest("A public Expert cannot delegate to %s, which is private", key)
		}
		pinned = append(pinned, v)
		lines = append(lines, tlog.Delegate{Key: key, Exact: v.name + "@" + v.version, Digest: v.digest})
	}
	all, depth, err := t.closure(pinned)
	broken := slices.IndexFunc(all, func(v version) bool { return v.status != api.Available && v.status != api.Deprecated })
	switch {
	case err != nil:
		return nil, nil, err
	case broken >= 0:
		return nil, nil, badRequest("The Expert reaches %s@%s by delegation, which is %s", all[broken].name, all[broken].version, all[broken].status)
	case len(all) >= api.MaxClosure:
		return nil, nil, badRequest("The Expert reaches %d others by delegation; %d are allowed", len(all), api.MaxClosure-1)
	case depth >= api.MaxDepth:
		return nil, nil, badRequest("Delegation is %d deep; %d is allowed", depth+1, api.MaxDepth)
	}
	return pinned, lines, nil
}

// closure returns versions and all that they reach by the delegates that were pinned, each once, and how
// deep that is.
func (l *look) closure(first []version) (all []version, depth int, err error) {
	seen := map[string]bool{}
	for level := first; len(level) > 0; depth++ {
		var next []version
		for _, v := range level {
			if seen[v.id] {
				continue
			}
			seen[v.id] = true
			all = append(all, v)
			if len(all) > api.MaxClosure {
				return all, depth, nil
			}
			found, err := l.versionsWhere("JOIN delegations d ON d.delegate_id = v.id WHERE d.version_id = $1 ORDER BY d.position", v.id)
			if err != nil {
				return nil, 0, err
			}
			next = append(next, found...)
		}
		level = next
	}
	return all, depth, nil
}
