package programs

import (
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Compare says in what the files of a program differ from those that were pinned; "" if they are
// the same.
func Compare(pinned, now string) string {
	return strings.Join(Differences(pinned, now, 3), ", ")
}

// Differences is Compare as a list: at most so many of them, and how many more there are.
func Differences(pinned, now string, most int) []string {
	before, after := parse(pinned), parse(now)
	var found []string
	changed := slices.DeleteFunc(slices.Sorted(maps.Keys(before)), func(name string) bool { return before[name] == after[name] })
	slices.SortStableFunc(changed, func(a, b string) int { return strings.Count(a, "/") - strings.Count(b, "/") })
	tries := maxTries
	for _, link := range changed {
		if target := targetOf(link, before, &tries); target != "" {
			found = append(found, link+" no longer leads to "+target)
			delete(before, link)
			delete(after, link)
		}
	}
	moved := len(found) > 0 // then other files are part of the program, and none need be gone or new
	for _, name := range slices.Sorted(maps.Keys(before)) {
		switch sum, ok := after[name]; {
		case !ok && !moved:
			found = append(found, name+" is gone")
		case ok && sum != before[name]:
			found = append(found, name+" has changed")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if _, ok := before[name]; !ok && !moved {
			found = append(found, name+" is new")
		}
	}
	if more := len(found) - most; more > 0 {
		found = append(found[:most], fmt.Sprintf("and %d more", more))
	}
	return found
}

// maxTries limits the time that a message takes. Links near the root of the workspace come first.
const maxTries = 50_000

// targetOf returns the file or directory of a program that a relative link leads to; "" if it is no
// such link. A digest has the SHA-256 of the target, so those that are possible are tried.
func targetOf(link string, sums map[string]string, tries *int) string {
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		for at := name; at != "."; at = parent(at) {
			if *tries--; *tries < 0 {
				return ""
			}
			to, err := filepath.Rel(path.Dir(link), at)
			if err == nil && slices.Contains([]string{linkSum(to), linkSum("./" + to), linkSum(to + "/")}, sums[link]) {
				return at
			}
		}
	}
	return ""
}
