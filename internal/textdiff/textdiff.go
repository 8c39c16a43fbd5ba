// Package textdiff compares two texts line by line and writes the difference as git does.
//
// It finds a shortest difference, after Myers, unless the texts differ so much that this would take
// long; then it finds a valid one. Start reading at [Hunks].
package textdiff

import (
	"bytes"
	"fmt"
	"strings"
)

const (
	// context is how many equal lines are shown around a change.
	context = 3
	// maxCost bounds the search for a shortest difference. Beyond, the best way so far is taken.
	maxCost = 1000
)

// Hunks returns the difference between two texts in the unified format, from the first "@@" on. It is
// empty if they are equal.
func Hunks(before, after []byte) string {
	c := newComparison(lines(before), lines(after))
	c.compare(0, len(c.a), 0, len(c.b))
	return c.format()
}

// IsBinary reports whether git would show no lines of a file.
func IsBinary(content []byte) bool { return bytes.IndexByte(content[:min(len(content), 8000)], 0) >= 0 }

// lines splits a text after each newline.
func lines(text []byte) []string {
	if len(text) == 0 {
		return nil
	}
	all := strings.SplitAfter(string(text), "\n")
	if all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	return all
}

// A comparison marks the lines that only one text has.
type comparison struct {
	before, after   []string
	a, b            []int // the lines as numbers: equal lines have equal ones
	removed, added  []bool
	forward, behind []int // furthest positions on each diagonal
}

func newComparison(before, after []string) *comparison {
	numbers := map[string]int{}
	number := func(all []string) []int {
		ids := make([]int, len(all))
		for i, line := range all {
			id, ok := numbers[line]
			if !ok {
				id = len(numbers)
				numbers[line] = id
			}
			ids[i] = id
		}
		return ids
	}
	size := len(before) + len(after) + 3
	return &comparison{
		before: before, after: after, a: number(before), b: number(after),
		removed: make([]bool, len(before)), added: make([]bool, len(after)),
		forward: make([]int, 2*size), behind: make([]int, 2*size),
	}
}

// compare compares the lines from a0 to a1 with those from b0 to b1.
func (c *comparison) compare(a0, a1, b0, b1 int) {
	for a0 < a1 && b0 < b1 && c.a[a0] == c.b[b0] {
		a0, b0 = a0+1, b0+1
	}
	for a0 < a1 && b0 < b1 && c.a[a1-1] == c.b[b1-1] {
		a1, b1 = a1-1, b1-1
	}
	x, y := a1, b1
	if a0 < a1 && b0 < b1 {
		x, y = c.middle(a0, a1, b0, b1)
	}
	if x == a0 && y == b0 || x == a1 && y == b1 { // nothing in common, or one side is empty
		for i := a0; i < a1; i++ {
			c.removed[i] = true
		}
		for i := b0; i < b1; i++ {
			c.added[i] = true
		}
		return
	}
	c.compare(a0, x, b0, y)
	c.compare(x, a1, y, b1)
}

// middle returns a point in the middle of a shortest way from the beginning to the end. It searches
// from both sides, until the two ways meet.
func (c *comparison) middle(a0, a1, b0, b1 int) (x, y int) {
	n, m := a1-a0, b1-b0
	delta, zero := n-m, len(c.forward)/2
	c.forward[zero+1], c.behind[zero+1] = 0, 0
	for d := 0; d <= (n+m+1)/2; d++ {
		for k := -d; k <= d; k += 2 {
			x := step(c.forward[zero+k-1], c.forward[zero+k+1], k, d)
			for x < n && x-k < m && c.a[a0+x] == c.b[b0+x-k] {
				x++
			}
			c.forward[zero+k] = x
			if back := delta - k; delta%2 != 0 && -d < back && back < d && x+c.behind[zero+back] >= n {
				return a0 + x, b0 + x - k
			}
		}
		for k := -d; k <= d; k += 2 {
			x := step(c.behind[zero+k-1], c.behind[zero+k+1], k, d)
			for x < n && x-k < m && c.a[a1-1-x] == c.b[b1-1-x+k] {
				x++
			}
			c.behind[zero+k] = x
			if ahead := delta - k; delta%2 == 0 && -d <= ahead && ahead <= d && x+c.forward[zero+ahead] >= n {
				return a1 - x, b1 - x + k
			}
		}
		if d == maxCost {
			break
		}
	}
	return c.furthest(a0, a1, b0, b1)
}

// step returns how far the way to diagonal k gets with one more change: from the diagonal above or
// below, whichever got further.
func step(below, above, k, d int) int {
	if k == -d || k != d && below < above {
		return above
	}
	return below + 1
}

// furthest returns the point that the search from the beginning got to.
func (c *comparison) furthest(a0, a1, b0, b1 int) (x, y int) {
	n, m, zero, best := a1-a0, b1-b0, len(c.forward)/2, 0
	for k := -maxCost; k <= maxCost; k += 2 {
		at := c.forward[zero+k]
		if at <= n && at-k <= m && at-k >= 0 && at+at-k > best {
			best, x, y = at+at-k, at, at-k
		}
	}
	return a0 + x, b0 + y
}

// format writes the marked lines with those around them.
func (c *comparison) format() string {
	var out strings.Builder
	for i, j := 0, 0; i < len(c.before) || j < len(c.after); {
		if !c.changed(i, j) {
			i, j = i+1, j+1
			continue
		}
		lead := min(context, i)
		i, j = c.hunk(&out, i-lead, j-lead)
	}
	return out.String()
}

// changed reports whether one of two lines is marked.
func (c *comparison) changed(i, j int) bool {
	return i < len(c.before) && c.removed[i] || j < len(c.after) && c.added[j]
}

// hunk writes a hunk that begins at two lines, and returns where it ends.
func (c *comparison) hunk(out *strings.Builder, i0, j0 int) (i, j int) {
	var body strings.Builder
	write := func(mark byte, line string) {
		body.WriteByte(mark)
		body.WriteString(line)
		if !strings.HasSuffix(line, "\n") {
			body.WriteString("\n\\ No newline at end of file\n")
		}
	}
	i, j = i0, j0
	for quiet := 0; i < len(c.before) || j < len(c.after); {
		switch {
		case i < len(c.before) && c.removed[i]:
			write('-', c.before[i])
			i, quiet = i+1, 0
		case j < len(c.after) && c.added[j]:
			write('+', c.after[j])
			j, quiet = j+1, 0
		case c.endsAt(i, j, quiet):
			fmt.Fprintf(out, "@@ -%s +%s @@\n%s", span(i0, i), span(j0, j), body.String())
			return i, j
		default:
			write(' ', c.before[i])
			i, j, quiet = i+1, j+1, quiet+1
		}
	}
	fmt.Fprintf(out, "@@ -%s +%s @@\n%s", span(i0, i), span(j0, j), body.String())
	return i, j
}

// endsAt reports whether a hunk ends before two equal lines: enough were shown after the last change,
// and the next change is not near.
func (c *comparison) endsAt(i, j, quiet int) bool {
	if quiet < context || i-quiet < 0 {
		return false
	}
	for n := range context + 1 {
		if c.changed(i+n, j+n) {
			return false
		}
	}
	return true
}

// span writes a range of lines as git does.
func span(from, to int) string {
	switch to - from {
	case 0:
		return fmt.Sprintf("%d,0", from)
	case 1:
		return fmt.Sprint(from + 1)
	}
	return fmt.Sprintf("%d,%d", from+1, to-from)
}
