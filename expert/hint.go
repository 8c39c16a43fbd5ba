package expert

import (
	"slices"
	"strings"
	"unicode"
)

// Nearest finds the word of known that was most likely meant by another, or "".
func Nearest(word string, known []string) string { return nearest(word, known) }

// nearest finds the word that was most likely meant, or "". Letter case and
// separators are forgiven entirely (max_steps is maxSteps); beyond that about
// one slip in three letters is.
func nearest(word string, known []string) string {
	const longest = 64 // no key is longer, and the cost grows with the square
	if len(word) > longest {
		return ""
	}
	folded := fold(word)
	best, bestDistance := "", min(3, len(folded)/3)+1
	for _, k := range known {
		if d := distance(folded, fold(k)); d < bestDistance {
			best, bestDistance = k, d
		}
	}
	if best == "" && len(folded) >= 3 {
		return abbreviated(folded, known)
	}
	return best
}

// abbreviated finds the only word that contains another: stdio is mcpStdioSkill.
func abbreviated(folded string, known []string) string {
	best := ""
	for _, k := range known {
		if strings.Contains(fold(k), folded) {
			if best != "" {
				return ""
			}
			best = k
		}
	}
	return best
}

func fold(s string) string {
	return strings.Map(func(c rune) rune {
		if c == '_' || c == '-' {
			return -1
		}
		return unicode.ToLower(c)
	}, s)
}

// distance counts insertions, deletions, replacements and swaps of neighbours
// that turn a into b.
func distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replace := last[j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			row[j] = min(replace, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

// didYouMean is the hint for a word out of a closed list.
func didYouMean(word string, known []string) string {
	if n := nearest(word, known); n != "" {
		return "did you mean " + quote(n) + "?"
	}
	return "use " + orList(known)
}

func orList(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// misplaced says where a key belongs that is known, but not where it stands.
// By the scoping of TOML a top-level key written below [provider] is part of
// the provider, and would be lost without a word.
func misplaced(key string) string {
	switch {
	case key == "prices" || key == "models" || key == "experts":
		return "it is a table of its own: write it like [" + key + ".<name>]"
	case key == "docker":
		return "it is a table of its own: write it as [docker]"
	case key == "sharedCell": // a file must not take a wall down
		return "it is a flag of perstack run only: --shared-cell"
	case slices.Contains(limitKeys, key):
		return "it bounds a job or an expert: move it above the first [table], or into [experts.<name>]"
	case slices.Contains(topKeys, key):
		return "it is a top-level key: move it above the first [table]"
	case slices.Contains(expertKeys, key):
		return "it belongs to an expert: move it into [experts.<name>]"
	case slices.Contains(anySkillKeys, key):
		return "it belongs to a skill: move it into [experts.<name>.skills.<skill>]"
	case slices.Contains(dockerKeys, key):
		return "it is about the container: move it into [docker]"
	case slices.Contains(priceKeys, key):
		return `it belongs to a price: move it into [prices."<model>"]`
	case slices.Contains(modelKeys, key):
		return `it is about a model: move it into [models."<model>"]`
	case key == "providerName" || key == "setting":
		return "it belongs to the provider: move it into [provider]"
	}
	return ""
}
