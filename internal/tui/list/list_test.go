package list

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/perstack-go/perstack/internal/tui/paint"
)

// items are lines of text that count how often they are drawn and read.
type items struct {
	texts       []string
	drawn, read int
}

func (s *items) Len() int        { return len(s.texts) }
func (s *items) ID(i int) string { return s.texts[i] }
func (s *items) Text(i int) string {
	s.read++
	return s.texts[i]
}
func (s *items) Line(i, _ int) paint.Line {
	s.drawn++
	return paint.Text(s.texts[i], 0)
}

func numbers(n int) *items {
	s := &items{}
	for i := range n {
		s.texts = append(s.texts, fmt.Sprint("item ", i))
	}
	return s
}

func draw(l *List, width, height int) (rows []string) {
	for _, line := range l.Render(width, height, paint.Palette{}) {
		rows = append(rows, line.Text())
	}
	return rows
}

func TestKeys(t *testing.T) {
	l := New(numbers(10))
	for _, tt := range []struct {
		keys     string
		want     []string
		position string
	}{
		{"", []string{"> item 0", "  item 1", "  item 2", "  item 3", "  ..."}, "(1/10)"},
		{"up", []string{"> item 0", "  item 1", "  item 2", "  item 3", "  ..."}, "(1/10)"},
		{"down down down", []string{"  item 0", "  item 1", "  item 2", "> item 3", "  ..."}, "(4/10)"},
		{"down", []string{"  ...", "  item 2", "  item 3", "> item 4", "  ..."}, "(5/10)"},
		{"up up", []string{"  ...", "> item 2", "  item 3", "  item 4", "  ..."}, "(3/10)"},
		{"up", []string{"  item 0", "> item 1", "  item 2", "  item 3", "  ..."}, "(2/10)"},
		{"pgdown", []string{"  ...", "  item 2", "  item 3", "> item 4", "  ..."}, "(5/10)"},
		{"end", []string{"  ...", "  item 6", "  item 7", "  item 8", "> item 9"}, "(10/10)"},
		{"down", []string{"  ...", "  item 6", "  item 7", "  item 8", "> item 9"}, "(10/10)"},
		{"pgup", []string{"  ...", "> item 6", "  item 7", "  item 8", "  item 9"}, "(7/10)"},
		{"pgup", []string{"  ...", "> item 3", "  item 4", "  item 5", "  ..."}, "(4/10)"},
		{"home", []string{"> item 0", "  item 1", "  item 2", "  item 3", "  ..."}, "(1/10)"},
	} {
		for key := range strings.FieldsSeq(tt.keys) {
			if !l.Key(key) {
				t.Errorf("%s was not taken", key)
			}
		}
		if diff := cmp.Diff(tt.want, draw(l, 20, 5)); diff != "" || l.Position() != tt.position {
			t.Errorf("after %q: %s (-want +got):\n%s", tt.keys, l.Position(), diff)
		}
	}
	for _, key := range []string{"enter", "backspace", "esc", "ctrl+u", "x"} {
		if l.Key(key) {
			t.Errorf("%s was taken", key)
		}
	}
}

func TestSizes(t *testing.T) {
	l := New(numbers(6))
	l.Move(3)
	for _, tt := range []struct {
		width, height int
		want          []string
	}{
		{20, 6, []string{"  item 0", "  item 1", "  item 2", "> item 3", "  item 4", "  item 5"}},
		{20, 5, []string{"  item 0", "  item 1", "  item 2", "> item 3", "  ..."}},
		{20, 2, []string{"  item 2", "> item 3"}},
		{20, 1, []string{"> item 3"}},
		{20, 0, []string{"> item 3"}},
		{7, 2, []string{"> it...", "  it..."}},
		{1, 1, []string{"."}},
	} {
		if diff := cmp.Diff(tt.want, draw(l, tt.width, tt.height)); diff != "" {
			t.Errorf("%dx%d (-want +got):\n%s", tt.width, tt.height, diff)
		}
	}
	if rows := draw(New(&items{}), 20, 5); rows != nil {
		t.Errorf("an empty list shows %q", rows)
	}
	if rows := draw(l, 20, 9); len(rows) != 6 || l.Position() != "" {
		t.Errorf("%q %s", rows, l.Position())
	}
}

func TestFilter(t *testing.T) {
	s := &items{texts: []string{"Writer of notes", "reader", "lead writer", "日本 writer"}}
	l := New(s)
	l.Move(2)
	for _, tt := range []struct {
		do       string
		want     []string
		selected string
	}{
		{"w", []string{"  Writer of notes", "> lead writer", "  日本 writer"}, "lead writer"},
		{"RIT", []string{"  Writer of notes", "> lead writer", "  日本 writer"}, "lead writer"},
		{" no", []string{"> Writer of notes"}, "Writer of notes"},
		{"x", []string{"  nothing matches"}, ""},
		{"backspace", []string{"> Writer of notes"}, "Writer of notes"},
		{"esc", []string{"> Writer of notes", "  reader", "  lead writer", "  日本 writer"}, "Writer of notes"},
		{"日本", []string{"> 日本 writer"}, "日本 writer"},
		{"backspace", []string{"> 日本 writer"}, "日本 writer"},
		{"backspace", []string{"  Writer of notes", "  reader", "  lead writer", "> 日本 writer"}, "日本 writer"},
	} {
		if !l.Key(tt.do) {
			l.Type(tt.do)
		}
		id, ok := l.ID()
		if diff := cmp.Diff(tt.want, draw(l, 30, 5)); diff != "" || id != tt.selected || ok != (id != "") {
			t.Errorf("after %q, with filter %q, %q is selected (-want +got):\n%s", tt.do, l.Filter(), id, diff)
		}
	}
}

// Typing on looks only at what passed before.
func TestFilterNarrows(t *testing.T) {
	s := numbers(1000)
	l := New(s)
	l.Type("9")
	passed := l.Len()
	s.read = 0
	if l.Type("9"); s.read != passed {
		t.Errorf("%d items were looked at, and %d passed before", s.read, passed)
	}
	want := l.Len()
	if l.setFilter(""); l.Len() != 1000 {
		t.Errorf("%d items without a filter", l.Len())
	}
	if l.setFilter("99"); l.Len() != want {
		t.Errorf("%d items at once, %d one by one", l.Len(), want)
	}
}

func TestSetSource(t *testing.T) {
	l := New(&items{texts: []string{"a", "b", "c"}})
	l.Move(1)
	for _, tt := range []struct {
		texts []string
		want  string
	}{{[]string{"new", "a", "b", "c"}, "b"}, {[]string{"a", "c"}, "c"}, {[]string{"x"}, "x"}, {nil, ""}, {[]string{"y", "z"}, "y"}} {
		l.SetSource(&items{texts: tt.texts})
		if id, _ := l.ID(); id != tt.want {
			t.Errorf("%q: %q is selected, want %q", tt.texts, id, tt.want)
		}
	}
	l.Type("z")
	l.SetSource(&items{texts: []string{"zz", "y", "z"}})
	if id, _ := l.ID(); id != "z" || l.Len() != 2 {
		t.Errorf("%q of %d is selected with a filter", id, l.Len())
	}
}

func TestMarks(t *testing.T) {
	l := New(numbers(2))
	for palette, want := range map[paint.Palette]string{
		{Color: true, Unicode: true}: "\x1b[1;36m❯ \x1b[0m\x1b[1;36mitem 0\x1b[0m\n  item 1",
		{}:                           "\x1b[1m> \x1b[0m\x1b[1mitem 0\x1b[0m\n  item 1",
	} {
		if got := palette.Screen(l.Render(20, 5, palette)); got != want {
			t.Errorf("%+v: %q, want %q", palette, got, want)
		}
	}
}

// Drawing costs what is visible, wherever in the list that is.
func TestCost(t *testing.T) {
	s := numbers(10_000)
	l := New(s)
	for _, key := range []string{"down", "pgdown", "end", "pgup", "home", "up"} {
		l.Key(key)
		s.drawn, s.read = 0, 0
		if rows := draw(l, 80, 24); s.drawn > 24 || s.read != 0 || len(rows) != 24 {
			t.Errorf("%s: %d items drawn and %d read for %d rows", key, s.drawn, s.read, len(rows))
		}
	}
}

// Whatever is pressed, the selected item is visible, the items are in order, and no row is empty that
// could show one.
func TestScrolling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 40).Draw(t, "items")
		l := New(numbers(n))
		t.Repeat(map[string]func(*rapid.T){
			"key": func(t *rapid.T) {
				l.Key(rapid.SampledFrom([]string{"up", "down", "pgup", "pgdown", "home", "end", "backspace", "esc"}).Draw(t, "key"))
			},
			"type":   func(t *rapid.T) { l.Type(rapid.SampledFrom([]string{"1", "2", " ", "item", "z"}).Draw(t, "text")) },
			"source": func(t *rapid.T) { l.SetSource(numbers(rapid.IntRange(0, 40).Draw(t, "items"))) },
			"": func(t *rapid.T) {
				height := rapid.IntRange(1, 12).Draw(t, "height")
				rows := draw(l, 30, height)
				if l.Len() == 0 {
					return
				}
				id, _ := l.ID()
				if !slices.Contains(rows, "> "+id) || len(rows) != min(height, l.Len()) {
					t.Fatalf("%q of %d is selected, and %d rows show %q", id, l.Len(), height, rows)
				}
				shown := slices.DeleteFunc(slices.Clone(rows), func(r string) bool { return r == "  ..." })
				for i, row := range shown {
					if want := l.source.ID(l.item(l.top + i)); row[2:] != want {
						t.Fatalf("%q, want %q", row[2:], want)
					}
				}
				if height < minMarked {
					return
				}
				if above, below := rows[0] == "  ...", rows[len(rows)-1] == "  ..."; above != (l.top > 0) || below != (l.top+len(shown) < l.Len()) {
					t.Fatalf("%d of %d at the top of %q", l.top, l.Len(), rows)
				}
			},
		})
	})
}
