package web

import (
	"cmp"
	"context"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/markdown"
	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/card"
	"github.com/perstack-go/perstack/internal/registry/definition"
	"github.com/perstack-go/perstack/internal/registry/server"
	"github.com/perstack-go/perstack/internal/registry/tlog"
	"github.com/perstack-go/perstack/internal/textdiff"
)

// pageSize is how many Experts a page lists.
const pageSize = 20

// anyone is who reads the pages: somebody without a key.
var anyone = server.Actor{}

type listing struct {
	Experts []api.Summary
	Next    string // query of the next page; empty at the end
	Search  string
	Owner   api.Organization
}

// maxSearch is how many characters a search can have, as in the API.
const maxSearch = 256

func (p *pages) home(ctx context.Context, search, after string) (found, error) {
	if len(search) > maxSearch {
		return found{}, &server.Error{Status: http.StatusBadRequest, Reason: "The search is too long"}
	}
	result, err := p.opts.Registry.Search(ctx, anyone, server.Search{Text: search, After: after, Take: pageSize, Newest: search == ""})
	if err != nil {
		return found{}, err
	}
	data := listing{Experts: result.Experts, Search: search}
	if result.Next != "" {
		query := url.Values{"after": {result.Next}}
		if search != "" {
			query.Set("q", search)
		}
		data.Next = query.Encode()
	}
	title := "Experts"
	if search != "" {
		title = "Search: " + search
	}
	return found{"home", page{Title: title, Query: search, Data: data}}, nil
}

func (p *pages) organization(ctx context.Context, name, after string) (found, error) {
	owner, err := p.opts.Registry.Organization(ctx, name)
	if err != nil {
		return found{}, err
	}
	result, err := p.opts.Registry.Search(ctx, anyone, server.Search{Owner: name, After: after, Take: pageSize})
	if err != nil {
		return found{}, err
	}
	data := listing{Experts: result.Experts, Owner: owner}
	if result.Next != "" {
		data.Next = url.Values{"after": {result.Next}}.Encode()
	}
	return found{"organization", page{Title: owner.Name, Data: data}}, nil
}

// A shownExpert is one version, with what is known about the others.
type shownExpert struct {
	api.Package
	Version    api.Version
	Definition *definition.Definition
	Readme     template.HTML
	Groups     []abilityGroup
	Graph      *graph // nil without delegates
	Entry      api.Entry
	Checkpoint string
	Size       int64
	Before     string // the next older version; empty if there is none
	IsLatest   bool
}

// An abilityGroup is the part of a card that is of one kind.
type abilityGroup struct {
	Kind      card.Kind
	Abilities []card.Ability
}

func (p *pages) expert(ctx context.Context, key string) (found, error) {
	k, err := expert.ParseKey(key)
	if err != nil {
		return found{}, &server.Error{Status: http.StatusNotFound, Reason: "This is not the name of an Expert"}
	}
	all, err := p.opts.Registry.Package(ctx, anyone, k.Name)
	if err != nil {
		return found{}, err
	}
	v, resolved, err := p.version(ctx, key)
	if err != nil {
		return found{}, err
	}
	data := shownExpert{Package: all, Version: v.expert.Version, Definition: v.closure[0], Entry: v.expert.Entry, Checkpoint: resolved.Checkpoint}
	data.IsLatest = data.Version.Version == all.Latest
	data.Size = sizeOf(resolved.Checkpoint)
	data.Groups = groups(card.Of(v.closure).Abilities)
	data.Graph = drawGraph(v.expert.Key(), v.delegates)
	// Markdown escapes the text itself; see its fuzz test.
	data.Readme = template.HTML(markdown.HTML(data.Definition.Extensions.Readme)) //nolint:gosec // as above
	for _, other := range all.Versions {                                          // the highest first
		if definition.CompareVersions(other.Version, data.Version.Version) < 0 && other.Status != api.Unpublished && other.Status != api.Quarantined {
			data.Before = other.Version
			break
		}
	}
	return found{"expert", page{Title: v.expert.Key(), Data: &data}}, nil
}

// A version is one with all that it delegates to.
type version struct {
	expert    api.Expert
	closure   []*definition.Definition   // it comes first
	delegates map[string][]tlog.Delegate // by exact key
}

func (p *pages) version(ctx context.Context, key string) (v version, resolved api.Resolved, err error) {
	resolved, err = p.opts.Registry.Resolve(ctx, anyone, api.Resolve{Keys: []string{key}, Closure: true})
	if err != nil {
		return v, resolved, err
	}
	exact := resolved.Keys[key]
	v.delegates = map[string][]tlog.Delegate{}
	for _, e := range resolved.Experts {
		d, err := definition.Parse(e.Content)
		if err != nil {
			return v, resolved, err
		}
		leaf, err := tlog.ParseLeaf([]byte(e.Entry.Leaf))
		if err != nil {
			return v, resolved, err
		}
		v.delegates[e.Key()] = leaf.Delegates
		if e.Key() == exact {
			v.expert = e
			v.closure = slices.Insert(v.closure, 0, d)
			continue
		}
		v.closure = append(v.closure, d)
	}
	return v, resolved, nil
}

func groups(abilities []card.Ability) (all []abilityGroup) {
	for _, a := range abilities {
		if last := len(all) - 1; last >= 0 && all[last].Kind == a.Kind {
			all[last].Abilities = append(all[last].Abilities, a)
			continue
		}
		all = append(all, abilityGroup{a.Kind, []card.Ability{a}})
	}
	return all
}

// A comparison is the difference between two versions.
type comparison struct {
	Name          string
	Before, After api.Version
	Gained, Lost  []abilityGroup
	Lines         []diffLine
	Cut           bool // there are more lines
}

// maxLines is how many lines of a difference a page shows.
const maxLines = 2000

// A diffLine is a line of a difference. Kind is added, removed, place or same.
type diffLine struct{ Kind, Text string }

func (p *pages) compare(ctx context.Context, name, before, after string) (found, error) {
	if !expert.ValidName(name) || !definition.IsVersion(before) || !definition.IsVersion(after) {
		return found{}, &server.Error{Status: http.StatusNotFound, Reason: "These are not two versions of an Expert"}
	}
	a, _, err := p.version(ctx, name+"@"+before)
	if err != nil {
		return found{}, err
	}
	b, _, err := p.version(ctx, name+"@"+after)
	if err != nil {
		return found{}, err
	}
	gained, lost := card.Compare(card.Of(a.closure), card.Of(b.closure))
	data := comparison{Name: name, Before: a.expert.Version, After: b.expert.Version, Gained: groups(gained), Lost: groups(lost)}
	data.Lines, data.Cut = diffLines(readable(a.closure[0]), readable(b.closure[0]))
	return found{"compare", page{Title: name + " " + before + " and " + after, Data: &data}}, nil
}

// readable is a definition as the file that its publisher could have written, with the instruction on lines
// of its own.
func readable(d *definition.Definition) []byte {
	without := *d
	without.Instruction = ""
	return []byte(without.TOML(d.Name) + "\n# instruction\n\n" + d.Instruction + "\n\n# readme\n\n" + d.Extensions.Readme + "\n")
}

func diffLines(before, after []byte) (lines []diffLine, more bool) {
	for line := range strings.Lines(textdiff.Hunks(before, after)) {
		if len(lines) == maxLines {
			return lines, true
		}
		kind := map[byte]string{'+': "added", '-': "removed", '@': "place"}[line[0]]
		lines = append(lines, diffLine{cmp.Or(kind, "same"), strings.TrimSuffix(line, "\n")})
	}
	return lines, false
}

// A shownLog is the end of the log, or a part of it.
type shownLog struct {
	Checkpoint string
	Size       int64
	Leaves     []shownLeaf // the newest first
	Older      int64       // where the page of older ones ends; 0 if there are none
}

type shownLeaf struct {
	Index int64
	Text  string
}

func (p *pages) log(ctx context.Context, before int64) (found, error) {
	signed, err := p.opts.Registry.Checkpoint(ctx)
	if err != nil {
		return found{}, err
	}
	data := shownLog{Checkpoint: string(signed), Size: sizeOf(string(signed))}
	end := data.Size
	if before >= 0 {
		end = min(end, before)
	}
	first := max(0, end-pageSize)
	changes, err := p.opts.Registry.Changes(ctx, first, int(end-first))
	if err != nil {
		return found{}, err
	}
	for i, text := range changes.Leaves {
		if index := first + int64(i); index < end {
			data.Leaves = append(data.Leaves, shownLeaf{index, text})
		}
	}
	slices.Reverse(data.Leaves)
	data.Older = first
	return found{"log", page{Title: "Log", Data: data}}, nil
}
