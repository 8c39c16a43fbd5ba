package edit

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/internal/tui/paint"
)

// at makes an editor whose cursor is where the text has a "|".
func at(t *testing.T, text string) *Editor {
	t.Helper()
	before, after, ok := strings.Cut(text, "|")
	if !ok {
		t.Fatalf("%q has no cursor", text)
	}
	e := &Editor{}
	if err := e.SetText(before + after); err != nil {
		t.Fatal(err)
	}
	e.cursor = len(before)
	return e
}

// state is the text with the cursor, and chips as they look.
func state(e *Editor) string {
	var b strings.Builder
	for _, part := range []string{e.text[:e.cursor], "|", e.text[e.cursor:]} {
		for unit := range e.units(part) {
			if unit == "\t" {
				b.WriteString(unit)
			} else {
				b.WriteString(e.show(unit))
			}
		}
	}
	return b.String()
}

func press(e *Editor, keys string) {
	for key := range strings.FieldsSeq(keys) {
		e.Key(key)
	}
}

func TestKeys(t *testing.T) {
	for _, tt := range []struct{ before, keys, after string }{
		{"ab|", "left", "a|b"}, {"|ab", "left", "|ab"}, {"a|b", "right", "ab|"}, {"ab|", "right", "ab|"},
		{"a\n|b", "left", "a|\nb"}, {"a|\nb", "right", "a\n|b"},
		{"e\u0301|x", "left", "|e\u0301x"}, {"|👨‍👩‍👧x", "right", "👨‍👩‍👧|x"}, {"🇩🇪|🇫🇷", "left", "|🇩🇪🇫🇷"}, {"日本|", "left", "日|本"},
		{"ab|c", "backspace", "a|c"}, {"|c", "backspace", "|c"}, {"a\n|c", "backspace", "a|c"}, {"xe\u0301|", "backspace", "x|"}, {"👍🏽|", "ctrl+h", "|"},
		{"a|bc", "delete", "a|c"}, {"abc|", "delete", "abc|"}, {"a|\nc", "ctrl+d", "a|c"}, {"|👨‍👩‍👧", "delete", "|"},
		{"one two|\nx", "home", "|one two\nx"}, {"a\nb|c", "ctrl+a", "a\n|bc"}, {"a|b\nc", "end", "ab|\nc"}, {"a|b", "ctrl+e", "ab|"},
		{"a\nb|\nc", "ctrl+home", "|a\nb\nc"}, {"a\nb|\nc", "ctrl+end", "a\nb\nc|"},
		{"one two-three|", "ctrl+left", "one two-|three"}, {"one two-|three", "alt+b", "one |two-three"}, {"  one|", "alt+left alt+left", "|  one"},
		{"one\n two|", "alt+b alt+b", "|one\n two"}, {"|one two", "ctrl+right", "one| two"}, {"one| two", "alt+f", "one two|"}, {"o|ne", "alt+right alt+right", "one|"},
		{"na\u0308chste|", "alt+b", "|na\u0308chste"}, {"हिन्दी x|", "alt+b alt+b", "|हिन्दी x"},
		{"cp a/b.txt|", "ctrl+w", "cp |"}, {"cp a/b.txt  |", "ctrl+w", "cp |"}, {"cp a/b.txt|", "alt+backspace", "cp a/b.|"}, {"|x", "ctrl+w", "|x"},
		{"a |bc d", "alt+d", "a | d"}, {"ab\ncd|ef\ngh", "ctrl+k", "ab\ncd|\ngh"}, {"ab|\ncd", "ctrl+k", "ab|cd"}, {"ab|", "ctrl+k", "ab|"},
		{"ab\ncd|ef", "ctrl+u", "ab\n|ef"}, {"ab\n|ef", "ctrl+u", "ab|ef"}, {"|ab", "ctrl+u", "|ab"},
		{"a|b", "alt+enter", "a\n|b"}, {"a|b", "shift+enter ctrl+j", "a\n\n|b"},
		{"abc\nd|\nefg", "up", "a|bc\nd\nefg"}, {"ab|c\nd\nefg", "down down", "abc\nd\nef|g"}, {"ab|c\nd\nefg", "down left down", "abc\nd\n|efg"},
		{"日本|\nabcdef", "down", "日本\nabcd|ef"}, {"日本\nabc|def", "up", "日|本\nabcdef"},
		{"a|b", "f5 ctrl+t enter esc", "a|b"},
	} {
		e := at(t, tt.before)
		if press(e, tt.keys); state(e) != tt.after {
			t.Errorf("%q after %s: %q, want %q", tt.before, tt.keys, state(e), tt.after)
		}
	}
}

// Enter, Esc and keys that mean nothing are left to the caller; so are Up and Down where nothing is.
func TestKeysForCaller(t *testing.T) {
	for _, key := range []string{"enter", "esc", "up", "down", "tab", "pgup", "f1", "a", ""} {
		if e := at(t, "a|b"); e.Key(key) {
			t.Errorf("%s was taken", key)
		}
	}
}

func TestInsert(t *testing.T) {
	for _, tt := range []struct{ before, text, after string }{
		{"a|b", "xy", "axy|b"}, {"a|", "\u0301", "a\u0301|"}, {"|\n", "日", "日|\n"},
		{"|", "\x1b[31mred\x1b[0m\r\nnext\x00\x07\u202e", "red\nnext|"}, {"|", "a\tb", "a\tb|"}, {"|", "\xff", "\ufffd|"},
		{"🇩|", "🇪", "🇩🇪|"}, {"|🇪", "🇩", "🇩🇪|"},
		{"|", string(firstChip), "|"}, // nothing from outside is a chip
	} {
		e := at(t, tt.before)
		if err := e.Insert(tt.text); err != nil || state(e) != tt.after {
			t.Errorf("%q with %q: %q, %v; want %q", tt.before, tt.text, state(e), err, tt.after)
		}
	}
}

func TestPaste(t *testing.T) {
	ten, eleven := strings.Repeat("x\n", 10), strings.Repeat("y\n", 11)
	e := at(t, "a|b")
	for _, text := range []string{ten, eleven, eleven + "z"} {
		if err := e.Paste(text); err != nil {
			t.Fatal(err)
		}
	}
	if want := "a" + ten + "[paste 1: 11 lines][paste 2: 12 lines]|b"; state(e) != want {
		t.Errorf("%q, want %q", state(e), want)
	}
	if diff := cmp.Diff(Message{Text: "a" + ten + eleven + eleven + "zb"}, e.Message()); diff != "" {
		t.Error(diff)
	}
	// A chip is one unit, one word, and nothing joins it.
	for _, tt := range []struct{ keys, want string }{
		{"left", "[paste 1: 11 lines]|[paste 2: 12 lines]b"}, {"alt+b", "|[paste 1: 11 lines][paste 2: 12 lines]b"},
		{"alt+f", "[paste 1: 11 lines]|[paste 2: 12 lines]b"}, {"delete", "[paste 1: 11 lines]|b"}, {"ctrl+w", "|b"},
	} {
		press(e, tt.keys)
		if _, got, _ := strings.Cut(state(e), ten); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.keys, got, tt.want)
		}
	}
}

// A combining mark after a chip is a unit of its own: deleting it does not delete the chip.
func TestChipAndMark(t *testing.T) {
	e := &Editor{}
	if err := errors.Join(e.Attach("image a.png", "@a.png", "1"), e.Insert("\u0301x")); err != nil {
		t.Fatal(err)
	}
	press(e, "left backspace")
	if state(e) != "[image a.png]|x" {
		t.Errorf("%q", state(e))
	}
	if press(e, "backspace"); state(e) != "|x" {
		t.Errorf("%q", state(e))
	}
}

func TestAttachments(t *testing.T) {
	e := at(t, "see |!")
	err := errors.Join(e.Attach("image shot.png 210 KB", "@shot.png", "id1"), e.Insert(" "), e.Attach("pdf \x1b[2Ja\nb.pdf", "@b.pdf", "id2"))
	if err != nil || state(e) != "see [image shot.png 210 KB] [pdf a b.pdf]|!" {
		t.Errorf("%q, %v", state(e), err)
	}
	press(e, "home")
	want := Message{Text: "see @shot.png @b.pdf!", Attachments: []string{"id1", "id2"}}
	if diff := cmp.Diff(want, e.Take()); diff != "" {
		t.Error(diff)
	}
	if !e.IsEmpty() || e.cursor != 0 || len(e.chips) != 0 {
		t.Errorf("%q is left", state(e))
	}
}

// The place of a deleted chip is used again, unless the user can return to it.
func TestChipsAreReused(t *testing.T) {
	long := strings.Repeat("x\n", 20)
	e := &Editor{}
	for range 5 {
		if err := e.Paste(long); err != nil {
			t.Fatal(err)
		}
		press(e, "backspace")
	}
	if len(e.chips) != 1 {
		t.Errorf("%d chips are kept", len(e.chips))
	}
	e.SetHistory([]string{"old"})
	if err := e.Paste("first\n" + long); err != nil {
		t.Fatal(err)
	}
	press(e, "up")
	if err := e.Paste("second\n" + long); err != nil {
		t.Fatal(err)
	}
	press(e, "down")
	if got := e.Message().Text; got != "first\n"+long {
		t.Errorf("%q", got)
	}
	e.Clear()
	for i := range maxChips {
		if err := e.Attach("a", "", fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Attach("a", "", "more"); err == nil || len(e.Message().Attachments) != maxChips {
		t.Errorf("%v with %d", err, len(e.Message().Attachments))
	}
}

func TestLimit(t *testing.T) {
	lines := strings.Repeat("x\n", Limit/4)
	e := at(t, "abc|")
	if err := e.Paste(lines); err != nil {
		t.Fatal(err)
	}
	before := state(e)
	for name, add := range map[string]func() error{
		"paste":        func() error { return e.Paste(lines) },
		"one line":     func() error { return e.Paste(strings.Repeat("x", Limit/2)) },
		"large paste":  func() error { return e.Paste(strings.Repeat("x\n", Limit)) },
		"large insert": func() error { return e.Insert(strings.Repeat("x", Limit+1)) },
		"attachment":   func() error { return e.Attach("a", strings.Repeat("x", Limit/2), "1") },
		"all of it":    func() error { return e.SetText(strings.Repeat("x", Limit+1)) },
	} {
		var large *TooLarge
		if err := add(); !errors.As(err, &large) || large.Size <= Limit || state(e) != before {
			t.Errorf("%s: %v, and the input is %q", name, err, state(e))
		}
	}
	if err := (&TooLarge{Size: 3 << 20}).Error(); err != "the input would have 3 MiB and can have 1 MiB; attach a file instead" {
		t.Error(err)
	}
	if err := e.Paste(strings.Repeat("x", Limit/2-3)); err != nil {
		t.Error(err)
	}
	if err := e.Newline(); err == nil {
		t.Error("a full input took a line feed")
	}
}

func TestBeforeCursor(t *testing.T) {
	e := at(t, "a\nsee @no|tes")
	if got := e.BeforeCursor(); got != "see @no" {
		t.Errorf("%q", got)
	}
	e.DeleteBefore(3)
	if state(e) != "a\nsee |tes" {
		t.Errorf("%q", state(e))
	}
	if err := errors.Join(e.Attach("x", "", "1"), e.Insert("@b")); err != nil || e.BeforeCursor() != "@b" {
		t.Errorf("%q, %v", e.BeforeCursor(), err)
	}
	if e.DeleteBefore(100); state(e) != "a\nsee [x]|tes" {
		t.Errorf("%q", state(e))
	}
}

func TestWrap(t *testing.T) {
	for _, tt := range []struct {
		text  string
		width int
		want  []string
	}{
		{"", 10, []string{""}}, {"abc", 4, []string{"abc"}}, {"abcd", 4, []string{"abc", "d"}}, {"ab cd ef", 6, []string{"ab cd ", "ef"}},
		{"ab cd", 6, []string{"ab cd"}}, {"ab cd ", 6, []string{"ab cd ", ""}}, {"a bcdefghij", 6, []string{"a ", "bcdef", "ghij"}},
		{"a\n\nb\n", 10, []string{"a", "", "b", ""}}, {"日本語", 6, []string{"日本", "語"}}, {"a日本語", 6, []string{"a日本", "語"}},
		{"👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧", 5, []string{"👨‍👩‍👧👨‍👩‍👧", "👨‍👩‍👧"}}, {"ab cd  ef", 6, []string{"ab cd ", " ef"}}, {"ab\tc", 6, []string{"ab", "\tc"}}, {"日本", 1, []string{"日", "本"}}, {"ab", 0, []string{"ab"}},
		{"e\u0301e\u0301e\u0301", 3, []string{"e\u0301e\u0301", "e\u0301"}}, {"aa bb\ncc", 4, []string{"aa ", "bb", "cc"}},
	} {
		e := &Editor{}
		if err := e.SetText(tt.text); err != nil {
			t.Fatal(err)
		}
		e.Render(tt.width, 100)
		var got []string
		for _, r := range e.rows() {
			got = append(got, e.text[r.begin:r.end])
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q in %d columns (-want +got):\n%s", tt.text, tt.width, diff)
		}
	}
}

// screen is what is drawn, with the cursor in it.
func screen(v View) (rows []string) {
	for i, line := range v.Lines {
		if i == v.Y {
			before, after := paint.Split(line, v.X)
			rows = append(rows, before.Text()+"|"+after.Text())
			continue
		}
		rows = append(rows, line.Text())
	}
	return rows
}

func TestRender(t *testing.T) {
	e := at(t, "one two three\nfour|\nfive\nsix")
	for _, tt := range []struct {
		keys          string
		width, height int
		want          []string
		above, below  int
	}{
		{"", 20, 9, []string{"one two three", "four|", "five", "six"}, 0, 0},
		{"", 9, 9, []string{"one two ", "three", "four|", "five", "six"}, 0, 0},
		{"", 9, 2, []string{"three", "four|"}, 1, 2},
		{"down", 9, 2, []string{"four", "five|"}, 2, 1},
		{"up", 9, 2, []string{"four|", "five"}, 2, 1},
		{"up up", 9, 2, []string{"one |two ", "three"}, 0, 3},
		{"ctrl+end", 9, 3, []string{"four", "five", "six|"}, 2, 0},
		{"", 9, 0, []string{"six|"}, 4, 0},
		{"", 20, 9, []string{"one two three", "four", "five", "six|"}, 0, 0},
		{"ctrl+home end", 14, 1, []string{"one two three|"}, 0, 3},
	} {
		press(e, tt.keys)
		v := e.Render(tt.width, tt.height)
		if diff := cmp.Diff(tt.want, screen(v)); diff != "" || v.Above != tt.above || v.Below != tt.below {
			t.Errorf("%s in %dx%d: %d above, %d below (-want +got):\n%s", tt.keys, tt.width, tt.height, v.Above, v.Below, diff)
		}
	}
	e = at(t, "a\tb|")
	if err := e.Attach("image with a long name.png", "", "1"); err != nil {
		t.Fatal(err)
	}
	want := []paint.Line{{{Text: "a"}, {Text: "    "}, {Text: "b"}}, {{Text: "[image w...", Style: paint.Cyan}}}
	if diff := cmp.Diff(want, e.Render(12, 5).Lines); diff != "" {
		t.Error(diff)
	}
}

// Drawing again, and moving, lays nothing out again.
func TestLayoutIsKept(t *testing.T) {
	e := at(t, strings.Repeat("word ", 1000)+"|")
	for range 3 {
		e.Render(40, 10)
		press(e, "left up ctrl+left home")
	}
	if e.laid.count != 1 {
		t.Errorf("laid out %d times", e.laid.count)
	}
	if err := e.Insert("x"); err != nil {
		t.Fatal(err)
	}
	e.Render(40, 10)
	e.Render(50, 10)
	if e.laid.count != 3 {
		t.Errorf("laid out %d times after a change and another width", e.laid.count)
	}
}

// Up and Down pass every row of a wrapped text, and return the same way.
func TestRowsUpAndDown(t *testing.T) {
	e := at(t, strings.Repeat("abcdefghij", 5)+" klm\n日本語日本語日本語|")
	e.Render(8, 5)
	var down []int
	for {
		down = append(down, e.Render(8, 100).Y)
		if !e.Up() {
			break
		}
	}
	for i := len(down) - 1; i > 0; i-- {
		if down[i] != down[i-1]-1 {
			t.Fatalf("rows %v", down)
		}
		if e.Down(); e.Render(8, 100).Y != down[i-1] {
			t.Errorf("row %d, want %d", e.Render(8, 100).Y, down[i-1])
		}
	}
	if down[len(down)-1] != 0 || len(down) != len(e.rows()) {
		t.Errorf("%v of %d rows", down, len(e.rows()))
	}
}

// A path becomes a chip wherever it stands, and the cursor stays where it is in the text.
func TestAttachFor(t *testing.T) {
	for _, tt := range []struct {
		before, text, want string
		there              bool
	}{
		{"see @a.png |", "@a.png", "see [image a] |", true},
		{"see @a.png now|", "@a.png", "see [image a] now|", true},
		{"|see @a.png", "@a.png", "|see [image a]", true},
		{"@a.png and @a.png|", "@a.png", "@a.png and [image a]|", true},
		{"see @a.p|ng", "@a.png", "see [image a]|", true},
		{"see @b.png|", "@a.png", "see @b.png|", false},
		{"see|", "", "see|", false},
	} {
		e := at(t, tt.before)
		there, err := e.AttachFor(tt.text, "image a", "id")
		if err != nil || there != tt.there || state(e) != tt.want {
			t.Errorf("%q: %q, %v, %v", tt.before, state(e), there, err)
		}
		if want := map[bool]int{true: 1}[tt.there]; e.Attachments() != want {
			t.Errorf("%q has %d attachments", tt.before, e.Attachments())
		}
	}
}

// A draft that is restored has its chips, and later changes are apart from it.
func TestDraft(t *testing.T) {
	e := at(t, "see |")
	if err := e.Attach("image a", "@a.png", "id"); err != nil {
		t.Fatal(err)
	}
	d, want := e.Draft(), e.Message()
	e.Take()
	if err := e.Attach("image b", "@b.png", "other"); err != nil {
		t.Fatal(err)
	}
	e.Restore(d)
	if diff := cmp.Diff(want, e.Message()); diff != "" || state(e) != "see [image a]|" {
		t.Errorf("%s\n%s", state(e), diff)
	}
}
