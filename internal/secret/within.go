package secret

import (
	"slices"
	"strconv"
	"strings"
)

// Within returns the secrets that occur in one of the texts as they are, by name. Who is
// handed these texts must hide them too; the others need not be known there.
func (s *Set) Within(texts ...string) map[string]string {
	found := make(map[string]string)
	if s == nil || s.table.Load() == nil {
		return found
	}
	for _, n := range s.table.Load().values {
		if !slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, n.value) }) {
			continue
		}
		name := n.name
		for i := 2; found[name] != ""; i++ {
			name = n.name + "." + strconv.Itoa(i)
		}
		found[name] = n.value
	}
	return found
}
