package mcp

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/rawjson"
	"github.com/perstack-go/perstack/skill"
)

const (
	maxShownName = 100 // bytes of a name in a difference
	maxShownText = 200 // bytes of a text
	maxShownWhat = 1000
)

// Compare lists how live differs from pinned, ordered by name; nil when it does not. Each
// difference is one line that is safe to print: what was added (+), removed (-) or altered (~).
func Compare(pinned, live []skill.Tool) (lines []string) {
	type difference struct{ tool, line string }
	var all []difference
	add := func(kind, tool, what string) {
		line := kind + " " + terminal.RevealLine(wording.Cut(tool, maxShownName))
		if what != "" {
			line += ": " + terminal.RevealLine(wording.Cut(what, maxShownWhat))
		}
		all = append(all, difference{tool, line})
	}
	before := make(map[string]skill.Tool)
	for _, t := range pinned {
		before[t.Name] = t
	}
	seen := make(map[string]bool)
	for _, t := range live {
		was, known := before[t.Name]
		switch {
		case seen[t.Name]: // a second definition must not be hidden by the first
			add("+", t.Name, "a second tool of this name: "+t.Description)
		case !known:
			add("+", t.Name, t.Description)
		default:
			if what := alteration(was, t); what != "" {
				add("~", t.Name, what)
			}
		}
		seen[t.Name] = true
	}
	for _, t := range pinned {
		if !seen[t.Name] {
			add("-", t.Name, "")
		}
	}
	slices.SortStableFunc(all, func(a, b difference) int { return cmp.Compare(a.tool, b.tool) })
	for _, d := range all {
		lines = append(lines, d.line)
	}
	return lines
}

// alteration describes how a definition changed; "" when it is the same.
func alteration(was, is skill.Tool) string {
	if was.Digest != "" && was.Digest == is.Digest {
		return ""
	}
	var what []string
	for _, text := range []struct{ name, was, is string }{
		{"title", was.Title, is.Title}, {"description", was.Description, is.Description},
	} {
		if text.was != text.is {
			what = append(what, text.name+" "+wasAndIs(text.was, text.is))
		}
	}
	if !sameJSON(was.InputSchema, is.InputSchema) {
		what = append(what, "schema changed"+schemaAlteration(was.InputSchema, is.InputSchema))
	}
	if was.Repeatable != is.Repeatable {
		what = append(what, fmt.Sprintf("repeatable was %t, is %t", was.Repeatable, is.Repeatable))
	}
	if len(what) == 0 && was.Digest != is.Digest && was.Digest != "" && is.Digest != "" {
		return "another part of its definition changed, such as its hints or its output schema"
	}
	return strings.Join(what, "; ")
}

// wasAndIs shows two texts around the first difference.
func wasAndIs(was, is string) string {
	same := 0
	for same < min(len(was), len(is)) && was[same] == is[same] {
		same++
	}
	from := max(0, same-40)
	return "was " + excerpt(was, from) + ", is " + excerpt(is, from)
}

func excerpt(text string, from int) string {
	if from == 0 {
		return `"` + wording.Cut(text, maxShownText) + `"`
	}
	return `"…` + wording.Cut(strings.ToValidUTF8(text[from:], ""), maxShownText) + `"`
}

func sameJSON(a, b rawjson.Value) bool {
	a, b = a.Clone(), b.Clone()
	_ = (*jsontext.Value)(&a).Canonicalize() // text that is not JSON is compared as it is
	_ = (*jsontext.Value)(&b).Canonicalize()
	return string(a) == string(b)
}

// schemaAlteration lists the parameters in which two schemas differ.
func schemaAlteration(was, is rawjson.Value) string {
	before, after := parameters(was), parameters(is)
	var what []string
	for _, name := range slices.Sorted(maps.Keys(after)) {
		switch old, known := before[name]; {
		case !known:
			what = append(what, "+ "+strconv.Quote(wording.Cut(name, maxShownName)))
		case !sameJSON(old, after[name]):
			what = append(what, "~ "+strconv.Quote(wording.Cut(name, maxShownName))+" "+wasAndIs(string(old), string(after[name])))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, kept := after[name]; !kept {
			what = append(what, "- "+strconv.Quote(wording.Cut(name, maxShownName)))
		}
	}
	if len(what) == 0 {
		return ": " + wasAndIs(string(was), string(is))
	}
	return ": " + strings.Join(what, ", ")
}

func parameters(schema rawjson.Value) map[string]rawjson.Value {
	var top struct {
		Properties map[string]rawjson.Value `json:"properties"`
	}
	if json.Unmarshal(schema, &top) != nil {
		return nil
	}
	return top.Properties
}
