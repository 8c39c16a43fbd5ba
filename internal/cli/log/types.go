package log

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/host"
)

// checkTypes refuses names that no event has: the job would look as if it had none.
func checkTypes(names []string) error {
	known := make(map[string]bool)
	for _, t := range event.Types() {
		known[string(t)] = true
	}
	for _, name := range names {
		if known[name] {
			continue
		}
		if n := nearestType(name); n != "" {
			return host.Usagef("--type: there is no event type %q; did you mean %s?", name, n)
		}
		return host.Usagef("--type: there is no event type %q; press tab behind --type, or see the types that perstack log <job> prints", name)
	}
	return nil
}

// completeType offers the event types to the shell.
func completeType(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var names []cobra.Completion
	for _, t := range event.Types() {
		names = append(names, string(t))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// nearestType finds the type that was most likely meant, or "": one with about one
// slip in three letters, letter case aside, or else the only one that contains name.
func nearestType(name string) string {
	const longest = 64 // no type is longer, and the cost grows with the square
	if len(name) > longest || len(name) < 3 {
		return ""
	}
	name = strings.ToLower(name)
	best, fewest := "", len(name)/3+1
	var containing []string
	for _, t := range event.Types() {
		known := strings.ToLower(string(t))
		if n := slips(name, known); n < fewest {
			best, fewest = string(t), n
		}
		if strings.Contains(known, name) {
			containing = append(containing, string(t))
		}
	}
	if best == "" && len(containing) == 1 {
		return containing[0]
	}
	return best
}

// slips counts the letters to add, drop or replace that make a out of b.
func slips(a, b string) int {
	last := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			replace := last[j]
			if a[i] != b[j] {
				replace++
			}
			row[j+1] = min(replace, last[j+1]+1, row[j]+1)
		}
		last = row
	}
	return last[len(b)]
}
