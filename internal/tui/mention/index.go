package mention

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// An Index is the paths that can be mentioned. It does not change, and can be made in the background.
type Index struct {
	paths []candidate
	cut   bool
}

type candidate struct {
	path   string
	folded string // in lower case
	base   int    // where the last name begins, in both
}

// NewIndex makes an index of paths with slashes; that of a directory ends in one. cut says that there are
// more.
func NewIndex(paths []string, cut bool) *Index {
	x := &Index{cut: cut, paths: make([]candidate, len(paths))}
	for i, path := range paths {
		x.paths[i] = candidate{path, strings.Map(lower, path), strings.LastIndexByte(strings.TrimSuffix(path, "/"), '/') + 1}
	}
	slices.SortFunc(x.paths, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(depth(a.path), depth(b.path)), cmp.Compare(a.folded, b.folded), cmp.Compare(a.path, b.path))
	})
	return x
}

// lower keeps the length of a letter, so that both forms of a path have the same places.
func lower(r rune) rune {
	if l := unicode.ToLower(r); len(string(l)) == len(string(r)) {
		return l
	}
	return r
}

func depth(path string) int { return strings.Count(strings.TrimSuffix(path, "/"), "/") }

// ranks is how many kinds of matches there are.
const ranks = 5

// loose is the rank of paths that only have the letters of a query in their order. So many paths have
// two letters in their order that they are shown only if there are no others.
const loose = ranks - 1

// rank says how well a query fits, 0 best: the last name begins with it, the path does, the last name
// contains it, the path does, or the path has its letters in their order.
func rank(path, query string, base int) (int, bool) {
	switch {
	case strings.HasPrefix(path[base:], query):
		return 0, true
	case strings.HasPrefix(path, query):
		return 1, true
	case strings.Contains(path[base:], query):
		return 2, true
	case strings.Contains(path, query):
		return 3, true
	}
	return loose, hasLetters(path, query)
}

func hasLetters(path, query string) bool {
	for _, r := range query {
		i := strings.IndexRune(path, r)
		if i < 0 {
			return false
		}
		path = path[i+len(string(r)):]
	}
	return true
}

// search returns the paths that fit a query, the best first. Capitals count only if the query has one.
// The index is sorted, so the paths of one rank need no sorting.
func (x *Index) search(query string) (found []string) {
	exact := strings.ContainsFunc(query, unicode.IsUpper)
	var by [ranks][]string
	for _, c := range x.paths {
		text := c.folded
		if exact {
			text = c.path
		}
		if r, ok := rank(text, query, c.base); ok {
			by[r] = append(by[r], c.path)
		}
	}
	if found = slices.Concat(by[:loose]...); len(found) == 0 {
		return by[loose]
	}
	return found
}
