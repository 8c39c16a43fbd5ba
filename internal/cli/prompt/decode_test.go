package prompt

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/perstack-go/perstack/internal/tui/edit"
)

func TestDecode(t *testing.T) {
	key := func(names ...string) (all []press) {
		for _, name := range names {
			all = append(all, press{key: name})
		}
		return all
	}
	text := func(text string) press { return press{text: text} }
	for _, tt := range []struct {
		name   string
		chunks []string // an empty one is a pause
		want   []press
	}{
		{"text", []string{"é日", "a\xe6\x97", "\xa5"}, []press{text("é日"), text("a"), text("日")}},
		{"bytes that are no text", []string{"a\xff\xfeb\x00\x1f"}, []press{text("ab")}},
		{"control keys", []string{"\x01", "\x03\x04", "\x08\x7f\t\n", "\r"}, key("ctrl+a", "ctrl+c", "ctrl+d", "ctrl+h", "backspace", "tab", "ctrl+j", "enter")},
		{"Enter at the end of a chunk", []string{"ab\r"}, []press{text("ab"), {key: "enter"}}},
		{"Enter within a chunk is pasted", []string{"a\rb\r"}, []press{text("a"), {key: "ctrl+j"}, text("b"), {key: "enter"}}},
		{"arrows", []string{"\x1b[A\x1bOB", "\x1b", "[", "C", "\x1b[1;5D\x1b[1;3C\x1b[1;2A"}, key("up", "down", "right", "ctrl+left", "alt+right", "shift+up")},
		{"other keys", []string{"\x1b[H\x1b[F\x1b[1~\x1b[4~\x1b[7~\x1b[8~\x1b[3~\x1b[3;5~\x1bOH"}, key("home", "end", "home", "end", "home", "end", "delete", "ctrl+delete", "home")},
		{"Alt", []string{"\x1b\r", "\x1bb\x1bf\x1b\x7f"}, key("alt+enter", "alt+b", "alt+f", "alt+backspace")},
		{"keys without a meaning", []string{"\x1b[5~\x1b[15~\x1bOP\x1b[I\x1b[1;6A\x1b!\x1b[?1;2c"}, nil},
		{"a long sequence", []string{"\x1b[" + strings.Repeat("1", 1000) + "Ax"}, []press{text("x")}},
		{"ESC alone", []string{"\x1b", "", "a"}, []press{{key: "esc"}, text("a")}},
		{"half a sequence, then nothing", []string{"\x1b[1", "", "a"}, []press{text("a")}},
		{"paste", []string{"\x1b[200~one\rtwo\r\nthree\x1b[20", "1~x"}, []press{{text: "one\ntwo\nthree", pasted: 14}, text("x")}},
		{"a paste with keys in it", []string{"\x1b[200~\x03a\x1b[A\x1b\x1b[201~"}, []press{{text: "\x03a\x1b[A\x1b", pasted: 6}}},
		{"an empty paste", []string{"\x1b[200~\x1b[201~"}, nil},
		{"the end of a paste alone", []string{"\x1b[201~a"}, []press{text("a")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var d decoder
			var got []press
			for _, chunk := range tt.chunks {
				if chunk == "" {
					got = append(got, d.idle()...)
				}
				got = append(got, d.read([]byte(chunk))...)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
		})
	}
}

// A paste that is too large is not kept, but its size is known.
func TestLargePaste(t *testing.T) {
	var d decoder
	d.read([]byte("\x1b[200~"))
	for range 3 {
		d.read([]byte(strings.Repeat("x", edit.Limit)))
	}
	if len(d.paste.text) > edit.Limit {
		t.Errorf("%d bytes are kept", len(d.paste.text))
	}
	if got := d.read([]byte(pasteEnds)); len(got) != 1 || got[0].pasted != 3*edit.Limit {
		t.Errorf("%d presses, want one of %d bytes", len(got), 3*edit.Limit)
	}
}

// FuzzDecode decodes any bytes, in any parts.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("a\x1b[A\x1b[200~x\x1b[201~\r"), 3)
	f.Add([]byte("\x1b\x1b[\x1bO\xe6\x97\xa5"), 1)
	f.Fuzz(func(t *testing.T, data []byte, size int) {
		var d decoder
		for chunk := range slices.Chunk(data, max(size%16, 1)) {
			for _, p := range append(d.read(chunk), d.idle()...) {
				if (p.key == "") == (p.text == "") || !utf8.ValidString(p.text) {
					t.Errorf("%+v", p)
				}
				if p.key == "" && p.pasted == 0 && strings.ContainsFunc(p.text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
					t.Errorf("a control character was typed: %q", p.text)
				}
			}
		}
	})
}
