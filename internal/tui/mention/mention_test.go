package mention

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/internal/tui/paint"
)

func TestFind(t *testing.T) {
	for text, want := range map[string][]string{
		"":                            nil,
		"see @notes.txt":              {"notes.txt"},
		"@a and @b/c.":                {"a", "b/c"},
		"(@a), \"@b\"; [@c]":          {"a", "b", "c"},
		`@"my notes.txt" and @x`:      {"my notes.txt", "x"},
		`@"a \"b\" \\ c"`:             {`a "b" \ c`},
		`@"not closed`:                nil,
		"@\"not\nclosed\" @x":         {"x"},
		"mail a@example.com":          nil,
		"@ @. @\"\"":                  nil,
		"@日本/名前.md!":                  {"日本/名前.md"},
		"line\n@second":               {"second"},
		"@@x":                         {"@x"},
		`@"a @b" c`:                   {"a @b"},
		"@a@b":                        {"a@b"},
		strings.Repeat("@", 3) + " @": {"@@"},
	} {
		var got []string
		for _, m := range Find(text) {
			if got = append(got, m.Path); text[m.Begin] != '@' || m.End > len(text) || m.End <= m.Begin {
				t.Errorf("%q: %+v", text, m)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func FuzzFind(f *testing.F) {
	for _, path := range []string{"notes.txt", "my notes.txt", `a"b\c`, `"`, "end.", "日本 語/", `\`, "a\n", "@"} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		Find(path)
		pending(path)
		if path == "" || strings.Contains(path, "\n") {
			return // no path that is offered
		}
		want := []Mention{{path, 4, 4 + len(Write(path))}}
		if diff := cmp.Diff(want, Find("see "+Write(path)+" now")); diff != "" {
			t.Error(diff)
		}
		if begin, query := pending("see " + open(path)); begin != 5 || query != path {
			t.Errorf("%q: %d, %q", path, begin, query)
		}
	})
}

func TestPending(t *testing.T) {
	for before, want := range map[string]string{
		"":                 "0 ",
		"@":                "1 ",
		"see @no":          "5 no",
		"see @no ":         "0 ",
		"a@b":              "0 ",
		"@a @b":            "4 b",
		`@"my no`:          "1 my no",
		`@"my notes.txt"`:  "0 ",
		`@"my notes" @x`:   "13 x",
		`@"a @b"`:          "0 ",
		"(@dir/":           "2 dir/",
		`@"esc\`:           "1 esc",
		"日本 @語":            "8 語",
		"two words @three": "11 three",
	} {
		begin, query := pending(before)
		if got := fmt.Sprint(begin, " ", query); got != want {
			t.Errorf("%q: %q, want %q", before, got, want)
		}
	}
}

var files = []string{"README.md", "cmd/", "cmd/main.go", "internal/", "internal/manifest/", "internal/manifest/read.go", "notes/", "notes/old.txt", "notes.txt", "my notes.txt"}

func TestRank(t *testing.T) {
	x := NewIndex(files, false)
	for query, want := range map[string][]string{
		"":      {"cmd/", "internal/", "my notes.txt", "notes.txt", "notes/", "README.md", "cmd/main.go", "internal/manifest/", "notes/old.txt", "internal/manifest/read.go"},
		"no":    {"notes.txt", "notes/", "notes/old.txt", "my notes.txt"},
		"notes": {"notes.txt", "notes/", "notes/old.txt", "my notes.txt"},
		"read":  {"README.md", "internal/manifest/read.go"},
		"READ":  {"README.md"},
		"Read":  nil,
		"ma":    {"cmd/main.go", "internal/manifest/", "internal/manifest/read.go"}, // "manifest/read.go" does not begin with it
		"imr":   {"internal/manifest/read.go"},
		"md":    {"cmd/", "README.md", "cmd/main.go"},
		"zz":    nil,
		"cmd/":  {"cmd/", "cmd/main.go"},
	} {
		if diff := cmp.Diff(want, x.search(query)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", query, diff)
		}
	}
}

// A letter whose other case has another length does not move the places of a path.
func TestFoldedLength(t *testing.T) {
	x := NewIndex([]string{"İİ/Ⱥfile"}, false)
	if got := x.search("file"); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

func menu(before string) *Menu {
	m := &Menu{}
	m.SetIndex(NewIndex(files, false))
	m.Update(before)
	return m
}

func TestMenu(t *testing.T) {
	for _, tt := range []struct {
		before, keys string
		want         Choice
		open         bool
	}{
		{"see @no", "tab", Choice{"notes.txt", 3, "@notes.txt "}, true},
		{"see @no", "enter", Choice{"notes.txt", 3, "@notes.txt "}, true},
		{"see @no", "down tab", Choice{"notes/", 3, "@notes/"}, true},
		{"see @no", "up tab", Choice{"my notes.txt", 3, `@"my notes.txt" `}, true},
		{"see @no", "down down down down tab", Choice{"notes.txt", 3, "@notes.txt "}, true},
		{`"@"my n`, "tab", Choice{"my notes.txt", 6, `@"my notes.txt" `}, true},
		{"@", "enter", Choice{}, true}, // Enter sends
		{"@", "down enter", Choice{"internal/", 1, "@internal/"}, true},
		{"@", "tab", Choice{"cmd/", 1, "@cmd/"}, true},
		{"@zz", "tab", Choice{}, true},
		{"no mention", "tab", Choice{}, false},
		{"see @no", "esc tab", Choice{}, false},
		{"see @no", "left", Choice{}, true},
	} {
		m := menu(tt.before)
		var got Choice
		for key := range strings.FieldsSeq(tt.keys) {
			got, _ = m.Key(key)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || m.IsOpen() != tt.open {
			t.Errorf("%q, %s: open %v (-want +got):\n%s", tt.before, tt.keys, m.IsOpen(), diff)
		}
		if got.Replace > 0 && !strings.HasPrefix(tt.before[len(tt.before)-got.Replace:], "@") {
			t.Errorf("%q, %s: %d bytes are replaced", tt.before, tt.keys, got.Replace)
		}
	}
}

// What was closed stays closed while the same path is typed, and opens with the next "@".
func TestClose(t *testing.T) {
	m := menu("@n")
	m.Key("esc")
	for before, want := range map[string]bool{"@no": false, "@not": false} {
		if m.Update(before); m.IsOpen() != want {
			t.Errorf("%q: open %v", before, m.IsOpen())
		}
	}
	m.Update("@not @")
	if !m.IsOpen() {
		t.Error("the next mention is closed")
	}
	m.Update("")
	if m.Update("@n"); !m.IsOpen() {
		t.Error("a mention that was typed again is closed")
	}
	if _, taken := m.Key("enter"); !taken {
		t.Error("Enter was not taken")
	}
}

func TestRender(t *testing.T) {
	for _, tt := range []struct {
		before, keys string
		width        int
		want         string
	}{
		{"@no", "", 80, " >notes.txt  notes/  notes/old.txt  my notes.txt"},
		{"@no", "down down", 80, "  notes.txt  notes/ >notes/old.txt  my notes.txt"},
		{"@no", "", 40, " >notes.txt  notes/  ...  (1/4)"},
		{"@no", "down down", 40, "  notes/ >notes/old.txt  ...  (3/4)"},
		{"@no", "up", 40, " >my notes.txt  (4/4)"},
		{"@manifest/r", "", 20, " >...anifest/read.go"},
		{"@zz", "", 40, "  no path fits"},
		{"none", "", 40, ""},
		{"@no", "", 12, " >...xt  ..."},
		{"@no", "", 3, "..."},
		{"@no", "", 0, ""},
	} {
		m := menu(tt.before)
		for key := range strings.FieldsSeq(tt.keys) {
			m.Key(key)
		}
		got := m.Render(tt.width, paint.Palette{})
		if got.Text() != tt.want || paint.Width(got) > tt.width {
			t.Errorf("%q, %s in %d columns: %q, want %q", tt.before, tt.keys, tt.width, got.Text(), tt.want)
		}
	}
	m := &Menu{}
	m.Update("@")
	if got := m.Render(40, paint.Palette{}).Text(); got != "  listing files..." {
		t.Errorf("%q", got)
	}
	m.SetIndex(NewIndex([]string{"a", "b"}, true))
	if got := (paint.Palette{Color: true}).Draw(m.Render(40, paint.Palette{Color: true})); got != "  \x1b[7ma\x1b[0m  b\x1b[2m  list cut\x1b[0m" {
		t.Errorf("%q", got)
	}
	m.Update("@zz")
	if got := m.Render(40, paint.Palette{}).Text(); got != "  no path fits  list cut" {
		t.Errorf("%q", got)
	}
}

// The selected path is visible wherever it is, and the line never too wide.
func TestRenderFits(t *testing.T) {
	var paths []string
	for i := range 200 {
		paths = append(paths, fmt.Sprintf("dir/名前 %d/%s.txt", i, strings.Repeat("x", i%40)))
	}
	for _, width := range []int{1, 8, 20, 33, 60, 80, 120} {
		m := &Menu{}
		m.SetIndex(NewIndex(paths, true))
		m.Update("@")
		for range 2 * len(paths) {
			line := m.Render(width, paint.Palette{Color: true})
			if paint.Width(line) > width {
				t.Fatalf("%q in %d columns", line.Text(), width)
			}
			selected := ""
			for _, s := range line {
				if s.Style&paint.Reverse != 0 {
					selected = strings.TrimPrefix(s.Text, "...")
				}
			}
			if width >= 60 && (selected == "" || !strings.HasSuffix(m.found[m.at], selected)) {
				t.Fatalf("%q is selected, and %q is shown as that in %d columns", m.found[m.at], selected, width)
			}
			m.Key("down")
		}
	}
}
