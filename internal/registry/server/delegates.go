package server

import (
	"errors"
	"fmt"
	"slices"

	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/tlog"
)

// leafRest is the space in a leaf for everything but its delegates.
const leafRest = 4 << 10

// pinDelegates finds out what each delegate means now. That is what it means for this version for ever.
func (t *change) pinDelegates(p *publication, visibility string) (pinned []version, lines []tlog.Delegate, err error) {
	size := 0 // of the lines in the leaf, without what separates them
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
		size += len(key) + len(v.name) + len(v.version) + len(v.digest)
		pinned = append(pinned, v)
		lines = append(lines, tlog.Delegate{Key: key, Exact: v.name + "@" + v.version, Digest: v.digest})
	}
	if size+len(lines)*len("delegate @  \n") > tlog.MaxLeaf-leafRest {
		return nil, nil, badRequest("The names of the delegates have more than %d bytes in all", tlog.MaxLeaf-leafRest)
	}
	all, depth, err := t.closure(pinned)
	if answer, ok := errors.AsType[*Error](err); ok && answer.Status == tooLargeStatus {
		return nil, nil, badRequest("The Expert reaches more than %d others by delegation", api.MaxClosure-1)
	}
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
// deep that is on the longest way.
func (l *look) closure(first []version) (all []version, depth int, err error) {
	reached := map[string][]string{} // ids of what a version delegates to
	for level := first; len(level) > 0; {
		var next []version
		for _, v := range level {
			if _, seen := reached[v.id]; seen {
				continue
			}
			if len(all) == api.MaxClosure {
				return nil, 0, &Error{Status: tooLargeStatus, Reason: fmt.Sprintf("The keys reach more than %d Experts by delegation", api.MaxClosure), Hint: "ask for fewer keys at once"}
			}
			all = append(all, v)
			found, err := l.versionsWhere("JOIN delegations d ON d.delegate_id = v.id WHERE d.version_id = $1 ORDER BY d.position", v.id)
			if err != nil {
				return nil, 0, err
			}
			reached[v.id] = []string{}
			for _, delegate := range found {
				reached[v.id] = append(reached[v.id], delegate.id)
			}
			next = append(next, found...)
		}
		level = next
	}
	known := map[string]int{}
	for _, v := range first {
		depth = max(depth, deepest(v.id, reached, known))
	}
	return all, depth, nil
}

// deepest returns how many versions the longest way from one has. A delegate is older than what delegates to
// it, so ways end; one that leads back is damage, and counts once.
func deepest(id string, reached map[string][]string, known map[string]int) int {
	if n, ok := known[id]; ok {
		return n
	}
	known[id] = 1
	below := 0
	for _, next := range reached[id] {
		below = max(below, deepest(next, reached, known))
	}
	known[id] = below + 1
	return below + 1
}
