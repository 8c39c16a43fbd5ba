package publish

import (
	"errors"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/registry/card"
	"github.com/perstack-go/perstack/internal/registry/definition"
	"github.com/perstack-go/perstack/internal/registry/review"
	"github.com/perstack-go/perstack/internal/toml"
)

// A proposal is an Expert that could be published: it passed all checks that need no registry.
type proposal struct {
	config     *manifest.Config
	expert     *expert.Expert
	definition *definition.Definition
	text       []byte // canonical
	digest     string
	signature  string           // empty for none
	signer     string           // fingerprint of its key
	local      []*expert.Expert // what it delegates to in the same file, those first that have to be published first
	card       card.Card
	advisories []string
}

// propose checks an Expert. The error is of type [toml.Problems] and has everything that is wrong, each
// with its line.
func propose(config *manifest.Config, e *expert.Expert, about definition.Extensions) (*proposal, error) {
	var problems toml.Problems
	add := func(f definition.Fault) {
		problems = append(problems, config.Problem(pathOf(e, f.Field), f.Message, f.Hint))
	}
	d, err := definition.FromExpert(e)
	lost, _ := errors.AsType[definition.Faults](err)
	for _, f := range lost {
		add(f)
	}
	d.Extensions.Readme, d.Extensions.License, d.Extensions.Repository = about.Readme, about.License, about.Repository
	found, _ := errors.AsType[definition.Faults](review.Check(d, review.Options{}))
	for _, f := range found {
		// What could not be taken over from the file is missing in the definition: that was said.
		if !slices.ContainsFunc(lost, func(l definition.Fault) bool { return sameSubject(l.Field, f.Field) }) {
			add(f)
		}
	}
	for _, circle := range config.Circles(e) {
		var names []string
		for _, one := range append(circle, circle[0]) {
			names = append(names, one.Name)
		}
		add(definition.Fault{Field: "delegates", Message: "form a circle, which cannot be published: " + strings.Join(names, ", "), Hint: "remove one of these delegations"})
	}
	if len(problems) > 0 {
		problems.Sort()
		return nil, problems
	}
	p := &proposal{config: config, expert: e, definition: d, text: d.Encode(), local: localDelegates(config, e)}
	p.digest = definition.Digest(p.text)
	p.card = card.Of([]*definition.Definition{d})
	p.advisories = append([]string{}, review.Advise(d, nil)...)
	return p, nil
}

// sameSubject reports whether two fields are of the same skill, or the same.
func sameSubject(a, b string) bool {
	skill := func(field string) string {
		rest, ok := strings.CutPrefix(field, "skills.")
		if at := strings.LastIndexByte(rest, '.'); ok && at >= 0 {
			return rest[:at]
		}
		return field
	}
	return skill(a) == skill(b)
}

// renamed are fields of a definition that have another name in the file.
var renamed = map[string]string{"runtimeRange": "minRuntimeVersion", "keywords": "tags"}

// pathOf is where a field of a definition is in the file.
func pathOf(e *expert.Expert, field string) string {
	path := toml.PathTo("experts", e.Name)
	field = strings.TrimPrefix(field, "extensions.")
	if other, ok := renamed[field]; ok {
		field = other
	}
	for _, s := range e.Skills {
		rest, ok := strings.CutPrefix(field, "skills."+s.Name)
		if ok && (rest == "" || rest[0] == '.') {
			return toml.PathTo(path, "skills", s.Name) + rest
		}
	}
	if field == "" {
		return path
	}
	return path + "." + field
}

// localDelegates are the Experts of the file that an Expert reaches by delegation. Each comes after those
// that it delegates to itself.
func localDelegates(config *manifest.Config, e *expert.Expert) (all []*expert.Expert) {
	seen := map[*expert.Expert]bool{e: true}
	var visit func(*expert.Expert)
	visit = func(of *expert.Expert) {
		for _, key := range of.Delegates {
			if one, ok := config.Lookup(key); ok && !seen[one] {
				seen[one] = true
				visit(one)
				all = append(all, one)
			}
		}
	}
	visit(e)
	return all
}
