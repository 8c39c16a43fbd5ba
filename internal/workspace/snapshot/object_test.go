package snapshot

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTreesRoundTrip(t *testing.T) {
	entries := []Entry{
		{Name: "a\nb", Kind: File, Mode: 0o644, Size: 7, ID: ID{1}},
		{Name: "big", Kind: File, Flags: Chunked | Torn, Mode: 0o600, Size: 5 << 20, ID: ID{2}},
		{Name: "dir", Kind: Directory, Mode: 0o755, ID: ID{3}},
		{Name: "link", Kind: Link, Mode: 0o777, ID: ID{4}},
		{Name: "pipe", Kind: Other, Mode: 0o600},
		{Name: "skipped", Kind: File, Flags: NotCaptured | Private, Size: 1 << 40},
	}
	got, err := decodeTree(encodeTree(entries))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(entries, got); diff != "" {
		t.Error(diff)
	}
}

func TestTreesHaveOneEncoding(t *testing.T) {
	a, b := Entry{Name: "a", Kind: Directory}, Entry{Name: "b", Kind: Directory}
	for name, entries := range map[string][]Entry{
		"order":     {b, a},
		"twice":     {a, a},
		"no name":   {{Kind: File}},
		"parent":    {{Name: "..", Kind: Directory}},
		"path":      {{Name: "a/b", Kind: File}},
		"nul":       {{Name: "a\x00", Kind: File}},
		"kind":      {{Name: "a", Kind: Other + 1}},
		"flags":     {{Name: "a", Kind: File, Flags: 0x80}},
		"mode":      {{Name: "a", Kind: File, Mode: 0o4755}},
		"dir size":  {{Name: "a", Kind: Directory, Size: 1}},
		"link torn": {{Name: "a", Kind: Link, Flags: Torn}},
	} {
		if got, err := decodeTree(encodeTree(entries)); err == nil {
			t.Errorf("%s: accepted as %+v", name, got)
		}
	}
}

func FuzzTree(f *testing.F) {
	f.Add(encodeTree([]Entry{{Name: "a", Kind: File, Mode: 0o644, Size: 300, ID: ID{1}}, {Name: "b", Kind: Other}}))
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := decodeTree(data)
		if err == nil && !bytes.Equal(encodeTree(entries), data) {
			t.Errorf("two encodings of one tree: %x and %x", data, encodeTree(entries))
		}
	})
}
