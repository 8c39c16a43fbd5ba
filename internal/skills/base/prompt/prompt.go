// Package prompt holds what models are told about the base tools: one Markdown file a tool,
// named like it. The files are also the list of the tools' names, which packages need that
// cannot import the tools themselves.
//
// A file begins with the tool's title and its place in the list, which are not part of the
// description. Start reading at [All].
package prompt

import (
	"cmp"
	"embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed *.md
var files embed.FS

// A Prompt is what is told about one tool.
type Prompt struct {
	Name        string
	Title       string // for people
	Description string // for models
	order       int
}

// All returns the prompts of all base tools, in the order in which models are sent them. The
// caller must not change the slice.
var All = sync.OnceValue(func() []Prompt {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(err) // the directory is part of the program
	}
	all := make([]Prompt, 0, len(entries))
	for _, e := range entries {
		text, err := files.ReadFile(e.Name())
		if err == nil {
			var p Prompt
			p, err = parse(strings.TrimSuffix(e.Name(), ".md"), string(text))
			all = append(all, p)
		}
		if err != nil {
			panic(err) // a test reads all files
		}
	}
	slices.SortFunc(all, func(a, b Prompt) int { return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.Name, b.Name)) })
	return all
})

// Names returns the names of the base tools, in the order of [All].
func Names() []string {
	var names []string
	for _, p := range All() {
		names = append(names, p.Name)
	}
	return names
}

func parse(name, text string) (Prompt, error) {
	var title, order string
	head, description, ok := strings.Cut(strings.TrimPrefix(text, "---\n"), "\n---\n")
	for line := range strings.Lines(head) {
		switch key, value, _ := strings.Cut(strings.TrimSpace(line), ": "); key {
		case "title":
			title = value
		case "order":
			order = value
		default:
			ok = false
		}
	}
	number, err := strconv.Atoi(order)
	if !ok || title == "" || err != nil {
		return Prompt{}, fmt.Errorf(`%s.md does not begin with "---", a title, an order and "---"`, name)
	}
	return Prompt{name, title, strings.TrimSpace(description), number}, nil
}
