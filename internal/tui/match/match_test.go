package match

import "testing"

func TestIndex(t *testing.T) {
	for _, tt := range []struct {
		text, query string
		begin, end  int
	}{
		{"Read notes", "read", 0, 4}, {"read notes", "Read", -1, -1}, {"a Read", "Read", 2, 6}, {"abc", "", -1, -1}, {"", "a", -1, -1},
		{"MÜNCHEN", "münch", 0, 6}, {"日本語", "本", 3, 6}, {"ab", "abc", -1, -1}, {"İx", "x", 2, 3}, {"\u212a", "k", 0, 3}, // the sign of Kelvin
		{"aab", "ab", 1, 3}, {"日aab", "ab", 4, 6}, {"x\xffy", "\xff", 1, 2}, {"日\xff", "\xff", 3, 4}, {"Straße", "SS", -1, -1},
	} {
		if begin, end := Index(tt.text, tt.query); begin != tt.begin || end != tt.end {
			t.Errorf("%q in %q: %d to %d, want %d to %d", tt.query, tt.text, begin, end, tt.begin, tt.end)
		}
	}
}

func FuzzIndex(f *testing.F) {
	f.Add("Straße", "ß")
	f.Add("\xff日\u212a", "k")
	f.Fuzz(func(t *testing.T, text, query string) {
		begin, end := Index(text, query)
		if begin == -1 && end == -1 {
			return
		}
		if begin < 0 || end <= begin || end > len(text) {
			t.Fatalf("%q in %q: %d to %d", query, text, begin, end)
		}
		if b, e := Index(text[begin:end], query); b != 0 || e != end-begin {
			t.Errorf("%q in %q is not in its own match: %d to %d", query, text, b, e)
		}
	})
}
