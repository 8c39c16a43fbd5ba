package tlog

import (
	"bytes"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSeal(t *testing.T) {
	want := sample[Published]
	want.Kind, want.Time = Published, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	sealed, text, err := Seal(want, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	shown, err := sealed.Text()
	if err != nil || bytes.Contains(shown, []byte("lead")) {
		t.Errorf("%s %v", shown, err)
	}
	if again, _, err := Seal(want, rand.Reader); err != nil || again.Digest == sealed.Digest {
		t.Error("the same leaf can be recognized")
	}
	got, err := sealed.Open(text)
	if err != nil || cmp.Diff(&want, got) != "" {
		t.Errorf("%v %s", err, cmp.Diff(&want, got))
	}
	other := sealed
	other.Time = want.Time.Add(time.Second)
	for name, c := range map[string]struct {
		leaf Leaf
		text []byte
		want string
	}{
		"another text": {sealed, bytes.Replace(text, []byte("1.2.0"), []byte("1.3.0"), 1), "is not the one that was sealed"},
		"nothing":      {sealed, nil, "is not the one that was sealed"},
		"another time": {other, text, "of the same time"},
		"not sealed":   {want, text, "is not sealed"},
		"no seal":      {Leaf{Kind: Sealed, Digest: digestOf([]byte("a\n"))}, []byte("a\n"), "has no seal"},
	} {
		if _, err := c.leaf.Open(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := Seal(want, strings.NewReader("few")); err == nil {
		t.Error("a leaf was sealed without random numbers")
	}
}

func FuzzOpen(f *testing.F) {
	_, text, err := Seal(Leaf{Kind: Published, Name: "a", Version: "1.0.0"}, strings.NewReader(strings.Repeat("a", 32)))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Fuzz(func(t *testing.T, text []byte) {
		leaf, err := (&Leaf{Kind: Sealed, Digest: digestOf(text)}).Open(text)
		if err != nil {
			return
		}
		if plain, err := leaf.Text(); err != nil || !bytes.HasPrefix(text, plain) {
			t.Errorf("%q %q %v", text, plain, err)
		}
	})
}
