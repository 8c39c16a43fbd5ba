package pager

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/perstack-go/perstack/internal/tui/paint"
)

// A text is a row with a line for each of its lines, broken at a width, and counts drawings.
type text struct {
	body  string
	drawn *int
}

func (t text) Text() string { return strings.ReplaceAll(t.body, "\n", " ") }

func (t text) Render(width int) (lines []paint.Line) {
	if t.drawn != nil {
		*t.drawn++
	}
	if t.body == "" {
		return nil
	}
	for line := range strings.SplitSeq(t.body, "\n") {
		for paint.TextWidth(line) > width {
			fit, rest := paint.Split(paint.Text(line, 0), width)
			lines = append(lines, fit)
			line = rest.Text()
		}
		lines = append(lines, paint.Text(line, 0))
	}
	return lines
}

// filled returns a pager with rows of two lines.
func filled(n int, drawn *int) *Pager {
	p := &Pager{}
	for i := range n {
		p.Put(fmt.Sprint(i), text{fmt.Sprintf("row %d\n  of %d", i, i), drawn})
	}
	return p
}

func screen(p *Pager, width, height int) string {
	var rows []string
	for _, line := range p.Render(width, height, paint.Palette{}) {
		rows = append(rows, line.Text())
	}
	return strings.Join(rows, "\n")
}

// expect compares what is visible with lines that are separated by "/".
func expect(t *testing.T, p *Pager, when, want string) {
	t.Helper()
	if diff := cmp.Diff(strings.ReplaceAll(want, "/", "\n"), screen(p, 20, 3)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", when, diff)
	}
}

func TestScroll(t *testing.T) {
	p := filled(4, nil)
	for _, tt := range []struct {
		key       string
		want      string
		following bool
	}{
		{"", "   of 2/ row 3/   of 3", true},
		{"shift+up", " row 2/   of 2/ row 3", false},
		{"shift+up", "   of 1/ row 2/   of 2", false},
		{"shift+down", " row 2/   of 2/ row 3", false},
		{"shift+down", "   of 2/ row 3/   of 3", true},
		{"shift+down", "   of 2/ row 3/   of 3", true},
		{"pgup", "   of 1/ row 2/   of 2", false},
		{"pgup", "   of 0/ row 1/   of 1", false},
		{"pgup", " row 0/   of 0/ row 1", false},
		{"pgup", " row 0/   of 0/ row 1", false},
		{"pgdown", " row 1/   of 1/ row 2", false},
		{"end", "   of 2/ row 3/   of 3", true},
		{"home", " row 0/   of 0/ row 1", false},
		{"pgdown", " row 1/   of 1/ row 2", false},
		{"pgdown", " row 2/   of 2/ row 3", false},
		{"pgdown", "   of 2/ row 3/   of 3", true},
	} {
		if taken := p.Key(tt.key); taken != (tt.key != "") {
			t.Errorf("%s: %v", tt.key, taken)
		}
		if expect(t, p, tt.key, tt.want); p.Following() != tt.following {
			t.Errorf("%s: following %v", tt.key, p.Following())
		}
	}
}

// The end is followed unless the user left it; then what is visible stays where it is.
func TestFollow(t *testing.T) {
	p := filled(3, nil)
	expect(t, p, "at first", "   of 1/ row 2/   of 2")
	p.Put("3", text{"new", nil})
	expect(t, p, "with another row", " row 2/   of 2/ new")
	p.Put("3", text{"new\nand more", nil})
	expect(t, p, "with a longer row", "   of 2/ new/ and more")
	p.scroll(-2)
	expect(t, p, "scrolled", "   of 1/ row 2/   of 2")
	p.Put("4", text{"last", nil})
	p.Put("0", text{"first\nhas\nthree", nil})
	expect(t, p, "with rows that changed above and below", "   of 1/ row 2/   of 2")
	first, last, of := p.Position()
	if first != 2 || last != 3 || of != 5 {
		t.Errorf("rows %d to %d of %d", first, last, of)
	}
	p.Put("1", text{"short", nil})
	expect(t, p, "with the first line gone", " short/ row 2/   of 2")
	p.scroll(100)
	expect(t, p, "at the end", " new/ and more/ last")
	if p.Clear(); screen(p, 20, 3) != "" || !p.Following() || p.Len() != 0 {
		t.Error("rows are left")
	}
}

func TestResize(t *testing.T) {
	p := &Pager{}
	for i := range 5 {
		p.Put(fmt.Sprint(i), text{fmt.Sprintf("row %d has so many words", i), nil})
	}
	p.Render(40, 3, paint.Palette{})
	p.scroll(-1)
	for _, tt := range []struct {
		width, height int
		want          string
	}{
		{40, 3, " row 1 has so many words/ row 2 has so many words/ row 3 has so many words"},
		{13, 3, " row 1 has so/  many words/ row 2 has so"},
		{40, 3, " row 1 has so many words/ row 2 has so many words/ row 3 has so many words"},
		{40, 1, " row 1 has so many words"},
		{40, 4, " row 1 has so many words/ row 2 has so many words/ row 3 has so many words/ row 4 has so many words"},
		{40, 9, " row 0 has so many words/ row 1 has so many words/ row 2 has so many words/ row 3 has so many words/ row 4 has so many words"},
	} {
		if diff := cmp.Diff(strings.ReplaceAll(tt.want, "/", "\n"), screen(p, tt.width, tt.height)); diff != "" {
			t.Errorf("%dx%d (-want +got):\n%s", tt.width, tt.height, diff)
		}
	}
	p.Render(0, 0, paint.Palette{}) // too small for anything, but no crash
}

func TestSelect(t *testing.T) {
	p := filled(4, nil)
	p.Put("none", text{"", nil})
	p.Render(20, 3, paint.Palette{})
	if _, ok := p.Selected(); ok {
		t.Error("a row is selected at first")
	}
	for _, tt := range []struct{ key, id, want string }{
		{"ctrl+up", "3", "   of 2/|row 3/|  of 3"},
		{"ctrl+up", "2", "|row 2/|  of 2/ row 3"},
		{"ctrl+up", "1", "|row 1/|  of 1/ row 2"},
		{"ctrl+down", "2", "   of 1/|row 2/|  of 2"},
		{"ctrl+down", "3", "   of 2/|row 3/|  of 3"},
		{"ctrl+down", "3", "   of 2/|row 3/|  of 3"}, // the row below has no lines
		{"home", "3", " row 0/   of 0/ row 1"},
		{"ctrl+up", "2", "   of 1/|row 2/|  of 2"},
		{"ctrl+up", "1", "|row 1/|  of 1/ row 2"},
		{"ctrl+up", "0", "|row 0/|  of 0/ row 1"},
		{"ctrl+up", "0", "|row 0/|  of 0/ row 1"},
	} {
		p.Key(tt.key)
		id, ok := p.Selected()
		if expect(t, p, tt.key, tt.want); id != tt.id || !ok {
			t.Errorf("%s: %s is selected, want %s", tt.key, id, tt.id)
		}
	}
	p.Deselect()
	p.selectBelow()
	if id, _ := p.Selected(); id != "0" {
		t.Errorf("%s is selected below", id)
	}
	// A row that is selected stays visible when others come.
	p.End()
	p.Deselect()
	p.Render(20, 3, paint.Palette{})
	p.selectAbove()
	p.Put("new", text{"new", nil})
	expect(t, p, "with a new row", "   of 2/|row 3/|  of 3")
	// Of a row that is taller than the screen the beginning is visible.
	p.Put("tall", text{"a\nb\nc\nd", nil})
	p.selectBelow()
	p.selectBelow()
	expect(t, p, "tall", "|a/|b/|c")
	empty := &Pager{}
	empty.selectAbove()
	empty.selectBelow()
	if id, ok := empty.Selected(); ok {
		t.Errorf("%q is selected of nothing", id)
	}
}

func TestSearch(t *testing.T) {
	p := filled(5, nil)
	p.Put("wrapped", text{"one needle in the\n  hay stack", nil})
	for _, tt := range []struct {
		do    string
		found bool
		want  string
	}{
		{"ROW 1", false, "   of 4/ one needle in the/   hay stack"},
		{"row 1", true, ">row 1/   of 1/ row 2"},
		{"of", true, " row 1/>  of 1/ row 2"},
		{"n", true, "   of 1/ row 2/>  of 2"},
		{"N", true, ">  of 1/ row 2/   of 2"},
		{"N", true, ">  of 0/ row 1/   of 1"},
		{"N", true, "   of 3/ row 4/>  of 4"}, // round the end
		{"n", true, ">  of 0/ row 1/   of 1"},
		{"in the  hay", true, "   of 4/>one needle in the/   hay stack"},
		{"n", true, "   of 4/>one needle in the/   hay stack"},
		{"nothing", false, "   of 4/ one needle in the/   hay stack"},
		{"n", false, "   of 4/ one needle in the/   hay stack"},
		{" ", false, "   of 4/ one needle in the/   hay stack"},
	} {
		var found bool
		switch tt.do {
		case "n":
			found = p.Next()
		case "N":
			found = p.Previous()
		default:
			found = p.Find(tt.do)
		}
		if expect(t, p, tt.do, tt.want); found != tt.found {
			t.Errorf("%s: found %v", tt.do, found)
		}
	}
	if p.Query() != "" {
		t.Errorf("%q is still looked for", p.Query())
	}
}

// A match is highlighted in every line that it has a part of.
func TestHighlight(t *testing.T) {
	p := &Pager{}
	p.Put("a", text{"in the\n  hay, in the barn\nÄpfel", nil})
	p.Find("the hay")
	want := []paint.Line{
		{{Text: ">", Style: paint.Magenta | paint.Bold}, {Text: "in "}, {Text: "the", Style: paint.Reverse}},
		{{Text: " "}, {Text: "  "}, {Text: "hay", Style: paint.Reverse}, {Text: ", in the barn"}},
		{{Text: " "}, {Text: "Äpfel"}},
	}
	if diff := cmp.Diff(want, p.Render(40, 5, paint.Palette{})); diff != "" {
		t.Error(diff)
	}
	p.Find("in")
	p.Next()
	want = []paint.Line{
		{{Text: " "}, {Text: "in", Style: paint.Magenta | paint.Bold}, {Text: " the"}},
		{{Text: ">", Style: paint.Magenta | paint.Bold}, {Text: "  hay, "}, {Text: "in", Style: paint.Reverse}, {Text: " the barn"}},
		{{Text: " "}, {Text: "Äpfel"}},
	}
	if diff := cmp.Diff(want, p.Render(40, 5, paint.Palette{})); diff != "" {
		t.Error(diff)
	}
	if p.Find("äpfel"); !strings.Contains(screen(p, 40, 5), ">Äpfel") {
		t.Errorf("%q", screen(p, 40, 5))
	}
}

// A hidden is a row that shows less than it has.
type hidden struct{ text }

func (h hidden) Text() string { return "secret part" }

func TestSearchInHiddenText(t *testing.T) {
	p := filled(9, nil)
	p.Put("hidden", hidden{text{"summary", nil}})
	p.Home()
	if !p.Find("secret") {
		t.Error("a row is not found by what it does not show")
	}
	if got := screen(p, 20, 3); !strings.Contains(got, ">summary") {
		t.Errorf("%q", got)
	}
}

// A page costs the same wherever it is and however many rows there are; a changed row is drawn again, and
// no other.
func TestCost(t *testing.T) {
	costs := map[int][]int{}
	for _, n := range []int{100, 10_000} {
		drawn := 0
		p := filled(n, &drawn)
		cost := func(do func()) {
			drawn = 0
			do()
			p.Render(80, 24, paint.Palette{})
			costs[n] = append(costs[n], drawn)
		}
		cost(func() {})
		cost(func() {})
		for i := range 5 {
			cost(func() { p.Put(fmt.Sprint(n-1), text{fmt.Sprint("stream\n", i), &drawn}) })
		}
		cost(func() { p.Put("new", text{"new", &drawn}) })
		cost(func() { p.Put("0", text{"changed", &drawn}) })
		for _, key := range []string{"pgup", "pgup", "home", "pgdown", "end", "shift+up"} {
			cost(func() { p.Key(key) })
		}
		cost(func() { p.Find("row 0") })
	}
	want := []int{12, 0, 1, 1, 1, 1, 1, 1, 0}
	if diff := cmp.Diff(want, costs[100][:len(want)]); diff != "" {
		t.Errorf("with 100 rows (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(costs[100], costs[10_000]); diff != "" {
		t.Errorf("with 10,000 rows (-100 +10,000):\n%s", diff)
	}
}

// The lines of rows that are not visible are not kept for ever.
func TestMemory(t *testing.T) {
	drawn := 0
	p := filled(5000, &drawn)
	p.Home()
	for range 5000 {
		p.Key("pgdown")
		p.Render(80, 24, paint.Palette{})
	}
	kept := 0
	for _, e := range p.rows {
		if e.lines != nil {
			kept++
		}
	}
	if kept > maxDrawn+24 || len(p.drawn) != kept {
		t.Errorf("the lines of %d rows are kept, and %d are noted", kept, len(p.drawn))
	}
	if drawn > 5100 {
		t.Errorf("%d drawings of 5000 rows", drawn)
	}
	for i := range 3000 { // a stream notes its row once
		p.Put("4999", text{fmt.Sprint("stream ", i), nil})
		p.Render(80, 24, paint.Palette{})
	}
	if len(p.drawn) > maxDrawn+24 {
		t.Errorf("%d rows are noted after a stream", len(p.drawn))
	}
}

// all is every line of a pager, by which what is visible is checked.
func all(p *Pager, width int) (lines []string) {
	for _, e := range p.rows {
		for _, line := range e.row.Render(width - gutter) {
			lines = append(lines, line.Text())
		}
	}
	return lines
}

// Whatever happens, what is visible is a full page of the lines in their order, or all of them; and if the
// end is followed, it is the end.
func TestPages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &Pager{}
		body := rapid.SampledFrom([]string{"", "a", "a\nb", "a long line of words", "日本語\n日本語日本語日本語", "x\ny\nz\nv\nw"})
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				p.Put(fmt.Sprint(rapid.IntRange(0, 12).Draw(t, "id")), text{body.Draw(t, "body"), nil})
			},
			"key": func(t *rapid.T) {
				p.Key(rapid.SampledFrom([]string{"pgup", "pgdown", "home", "end", "shift+up", "shift+down", "ctrl+up", "ctrl+down"}).Draw(t, "key"))
			},
			"find": func(t *rapid.T) {
				p.Find(rapid.SampledFrom([]string{"a", "long line", "語", "z v", ""}).Draw(t, "query"))
			},
			"next": func(*rapid.T) { p.Next() },
			"previous": func(*rapid.T) {
				p.Previous()
			},
			"": func(t *rapid.T) {
				width, height := rapid.IntRange(3, 30).Draw(t, "width"), rapid.IntRange(1, 9).Draw(t, "height")
				var visible []string
				for _, line := range p.Render(width, height, paint.Palette{}) {
					if paint.Width(line) > width {
						t.Fatalf("%q in %d columns", line.Text(), width)
					}
					visible = append(visible, line[1:].Text())
				}
				lines := all(p, width)
				from := 0
				for _, e := range p.rows[:min(p.top.row, len(p.rows))] {
					from += len(e.row.Render(width - gutter))
				}
				from += p.top.line
				if want := lines[min(from, len(lines)):min(from+height, len(lines))]; !cmp.Equal(want, visible) && len(want)+len(visible) > 0 {
					t.Fatalf("%q, want %q", visible, want)
				}
				if len(visible) != min(height, len(lines)) || p.Following() && from+len(visible) != len(lines) {
					t.Fatalf("%d of %d lines from %d, following %v", len(visible), len(lines), from, p.Following())
				}
			},
		})
	})
}
