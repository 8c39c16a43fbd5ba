package tlog

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/sumdb/note"
	"pgregory.net/rapid"
)

func digestNumber(n int) string { return fmt.Sprintf("sha256:%064x", n) }

var sample = map[Kind]Leaf{
	Published: {
		Name: "@acme/lead", Version: "1.2.0", Digest: digestNumber(1), Actor: "org:o1 cred:key:k1", Signature: strings.Repeat("a", 64),
		Delegates: []Delegate{{"@acme/reader", "@acme/reader@1.0.0", digestNumber(2)}, {"helper@stable", "helper@2.0.0", digestNumber(3)}},
	},
	Tagged:        {Name: "lead", Tag: "stable", Old: "1.0.0", New: "1.2.0", Actor: "org:o1 cred:key:k1"},
	StatusChanged: {Name: "lead", Version: "1.0.0", Old: "available", New: "deprecated", Message: digestNumber(4), Actor: "org:o1 cred:key:k1"},
	Removed:       {Name: "lead", Version: "1.0.0", Reason: "owner", Actor: "org:o1 cred:key:k1"},
	Transferred:   {Name: "lead", Old: "o1", New: "o2", Actor: "org:o1 cred:key:k1"},
	OrgChanged:    {Org: "o1", New: "acme", Actor: "admin"},
	PolicyChanged: {Org: "o1", New: "SHA256:key", Actor: "admin"},
	LogKey:        {New: "registry.example+1+abc", Actor: "registry"},
	Sealed:        {Digest: digestNumber(5)},
}

func TestLeaves(t *testing.T) {
	for _, kind := range Kinds() {
		want := sample[kind]
		want.Kind, want.Time = kind, time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC)
		text, err := want.Text()
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		got, err := ParseLeaf(text)
		if err != nil || cmp.Diff(&want, got) != "" {
			t.Errorf("%s: %v %s", kind, err, cmp.Diff(&want, got))
		}
	}
	l := sample[Published]
	l.Kind, l.Time, l.Delegates = Published, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), l.Delegates[:1]
	const want = `perstack-registry/1 publish
name @acme/lead
version 1.2.0
digest sha256:0000000000000000000000000000000000000000000000000000000000000001
delegate @acme/reader @acme/reader@1.0.0 sha256:0000000000000000000000000000000000000000000000000000000000000002
actor org:o1 cred:key:k1
sig aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
time 2026-01-02T03:04:05Z
`
	if text, err := l.Text(); err != nil || string(text) != want {
		t.Errorf("%v\n%s", err, text)
	}
}

// A field cannot pretend to be another one, and nothing is written that would be read as something else.
func TestLeavesThatCannotBeWritten(t *testing.T) {
	for name, change := range map[string]func(*Leaf){
		"line":           func(l *Leaf) { l.Name = "a\nversion 9.9.9" },
		"nothing":        func(l *Leaf) { l.Name = "-" },
		"blank delegate": func(l *Leaf) { l.Delegates = []Delegate{{"a b", "a@1.0.0", digestNumber(1)}} },
		"control":        func(l *Leaf) { l.Actor = "a\rb" },
		"separator":      func(l *Leaf) { l.Actor = "a\u2028b" },
		"utf-8":          func(l *Leaf) { l.Actor = "\xff" },
		"foreign field":  func(l *Leaf) { l.Tag = "stable" },
		"kind":           func(l *Leaf) { l.Kind = "sell" },
		"long":           func(l *Leaf) { l.Actor = strings.Repeat("a", MaxLeaf) },
	} {
		l := sample[Published]
		l.Kind = Published
		change(&l)
		if text, err := l.Text(); err == nil {
			t.Errorf("%s: %q", name, text)
		}
	}
}

func FuzzParseLeaf(f *testing.F) {
	for kind, l := range sample {
		l.Kind = kind
		text, err := l.Text()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		l, err := ParseLeaf(text)
		if err != nil {
			return
		}
		if again, err := l.Text(); err != nil || !bytes.Equal(again, text) {
			t.Errorf("%v\n%q\n%q", err, text, again)
		}
	})
}

// A memoryLog is a log in memory.
type memoryLog struct {
	leaves [][]byte
	hashes []Hash
}

func (m *memoryLog) read(indexes []int64) ([]Hash, error) {
	var out []Hash
	for _, i := range indexes {
		out = append(out, m.hashes[i])
	}
	return out, nil
}

func (m *memoryLog) append(t interface{ Fatal(...any) }, leaf []byte) {
	first, added, err := Append(int64(len(m.leaves)), leaf, HashReaderFunc(m.read))
	if err != nil || first != int64(len(m.hashes)) {
		t.Fatal(first, len(m.hashes), err)
	}
	m.leaves, m.hashes = append(m.leaves, leaf), append(m.hashes, added...)
}

func (m *memoryLog) at(t interface{ Fatal(...any) }, size int64) Checkpoint {
	root, err := Root(size, HashReaderFunc(m.read))
	if err != nil {
		t.Fatal(err)
	}
	return Checkpoint{"registry.example/log", size, root}
}

// Proofs hold for every leaf and every pair of sizes, and for nothing else.
func TestProofs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log, other := &memoryLog{}, &memoryLog{}
		size := rapid.Int64Range(1, 700).Draw(t, "size")
		changed := rapid.Int64Range(0, size-1).Draw(t, "changed")
		for i := range size {
			leaf := fmt.Appendf(nil, "leaf %d\n", i)
			log.append(t, leaf)
			if i == changed {
				leaf = append(leaf, '!')
			}
			other.append(t, leaf)
		}
		if int64(len(log.hashes)) != StoredHashes(size) {
			t.Fatal("number of hashes")
		}
		index, older := rapid.Int64Range(0, size-1).Draw(t, "index"), rapid.Int64Range(0, size).Draw(t, "older")
		c := log.at(t, size)
		proof, err := ProveLeaf(size, index, HashReaderFunc(log.read))
		if err != nil {
			t.Fatal(err)
		}
		if err := CheckLeaf(proof, c, index, log.leaves[index]); err != nil {
			t.Fatal(err)
		}
		if CheckLeaf(proof, c, index, append(bytes.Clone(log.leaves[index]), 'x')) == nil || CheckLeaf(proof, other.at(t, size), index, log.leaves[index]) == nil {
			t.Fatal("a leaf that is not in the log was proved")
		}
		growth, err := ProveGrowth(older, size, HashReaderFunc(log.read))
		if err != nil {
			t.Fatal(err)
		}
		if err := CheckGrowth(growth, log.at(t, older), c); err != nil {
			t.Fatal(err)
		}
		// The other log differs from the leaf changed on: nothing before it is proved to be another.
		if older > changed {
			forged, err := ProveGrowth(older, size, HashReaderFunc(other.read))
			if err != nil {
				t.Fatal(err)
			}
			if CheckGrowth(forged, log.at(t, older), other.at(t, size)) == nil {
				t.Fatal("another history was proved to be the same")
			}
		}
		if older < size && CheckGrowth(nil, c, log.at(t, older)) == nil {
			t.Fatal("a log that lost leaves was accepted")
		}
	})
}

func TestCheckpoints(t *testing.T) {
	secret, public, err := note.GenerateKey(rand.Reader, "registry.example")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := note.NewSigner(secret)
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := note.NewVerifier(public)
	if err != nil {
		t.Fatal(err)
	}
	log := &memoryLog{}
	log.append(t, []byte("a\n"))
	want := log.at(t, 1)
	signed, err := want.Sign(signer)
	if err != nil {
		t.Fatal(err)
	}
	got, signers, err := OpenCheckpoint(signed, want.Origin, verifier)
	if err != nil || got != want || len(signers) != 1 {
		t.Fatalf("%v %v %v", got, signers, err)
	}
	otherSecret, otherPublic, _ := note.GenerateKey(rand.Reader, "registry.example")
	otherSigner, _ := note.NewSigner(otherSecret)
	otherVerifier, _ := note.NewVerifier(otherPublic)
	sign := func(text string) []byte {
		signed, err := note.Sign(&note.Note{Text: text}, signer)
		if err != nil {
			t.Fatal(err)
		}
		return signed
	}
	other, _ := want.Sign(otherSigner)
	for name, c := range map[string]struct {
		signed   []byte
		origin   string
		verifier note.Verifier
		want     string
	}{
		"another key":    {signed, want.Origin, otherVerifier, "no key that is known"},
		"another signer": {other, want.Origin, verifier, "no key that is known"},
		"another log":    {signed, "registry.example/other", verifier, `it is of the log "registry.example/log"`},
		"changed":        {bytes.Replace(signed, []byte("\n1\n"), []byte("\n2\n"), 1), want.Origin, verifier, "cannot be trusted"},
		"zeros":          {sign("registry.example/log\n01\n" + strings.Split(want.Text(), "\n")[2] + "\n"), want.Origin, verifier, "not written as"},
		"more lines":     {sign(want.Text() + "more\n"), want.Origin, verifier, "three lines"},
		"negative":       {sign("registry.example/log\n-1\n" + strings.Split(want.Text(), "\n")[2] + "\n"), want.Origin, verifier, "not written as"},
		"short hash":     {sign("registry.example/log\n1\nYQ==\n"), want.Origin, verifier, "size or hash"},
		"nothing":        {nil, want.Origin, verifier, "cannot be trusted"},
		"much":           {append(bytes.Clone(signed), make([]byte, maxNote)...), want.Origin, verifier, "bytes"},
		"two at once":    {append(bytes.Clone(signed), signed...), want.Origin, verifier, "cannot be trusted"},
		"no signature":   {[]byte(want.Text()), want.Origin, verifier, "cannot be trusted"},
	} {
		if _, _, err := OpenCheckpoint(c.signed, c.origin, c.verifier); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzParseCheckpoint(f *testing.F) {
	f.Add((&memoryLog{}).at(f, 0).Text())
	f.Fuzz(func(t *testing.T, text string) {
		if c, err := parseCheckpoint(text); err == nil && c.Text() != text {
			t.Errorf("%q %q", text, c.Text())
		}
	})
}

// A registry can claim to have any number of leaves. That costs nothing before it shows them.
func TestTilesOfHugeLog(t *testing.T) {
	n := 0
	for tile := range TilesOf(0, 1e15) {
		if tile.Width != TileWidth || tile.Index != int64(n) {
			t.Fatalf("%+v", tile)
		}
		if n++; n == 3 {
			break
		}
	}
}

func TestTiles(t *testing.T) {
	for path, want := range map[string]Tile{
		"tile/0/000":               {0, 0, 256},
		"tile/0/x001/x234/067":     {0, 1234067, 256},
		"tile/3/x001/000":          {3, 1000, 256},
		"tile/entries/005.p/17":    {Entries, 5, 17},
		"tile/1/x100/999.p/255":    {1, 100999, 255},
		"tile/entries/x010/x000/7": {},
		"tile/entries/5":           {},
		"tile/0/x000/001":          {},
		"tile/0/001.p/256":         {},
		"tile/0/001.p/0":           {},
		"tile/8/001":               {},
		"tile/-1/001":              {},
		"tile/00/001":              {},
		"tile/0/001/":              {},
		"tile/0/x001":              {},
		"tile/0/1x01/001":          {},
		"tile/data/001":            {},
		"tile/0/-01":               {},
		"":                         {},
	} {
		got, err := ParseTile(path)
		if (err == nil) != (want.Width > 0) || got != want {
			t.Errorf("%q: %+v %v", path, got, err)
		}
	}
	log := &memoryLog{}
	for i := range 600 {
		log.append(t, fmt.Appendf(nil, "leaf %d\n", i))
	}
	var leaves [][]byte
	for tile := range TilesOf(0, 600) {
		if !tile.In(600) || tile.In(tile.Index*TileWidth+int64(tile.Width)-1) {
			t.Errorf("%+v", tile)
		}
		from := tile.Index * TileWidth
		data, err := EncodeEntries(log.leaves[from : from+int64(tile.Width)])
		if err != nil {
			t.Fatal(err)
		}
		some, err := DecodeEntries(data, tile.Width)
		if err != nil {
			t.Fatal(err)
		}
		leaves = append(leaves, some...)
		tile.Level = 0
		hashes, err := tile.Hashes(HashReaderFunc(log.read))
		if err != nil || len(hashes) != tile.Width*len(Hash{}) {
			t.Errorf("%+v: %d %v", tile, len(hashes), err)
		}
	}
	if diff := cmp.Diff(log.leaves, leaves); diff != "" {
		t.Error(diff)
	}
	if !(Tile{1, 0, 2}).In(600) || (Tile{1, 0, 3}).In(600) {
		t.Error("tiles of the next level")
	}
	for name, data := range map[string][]byte{"short": {0, 5, 'a'}, "half": {0}, "fewer": {0, 1, 'a'}, "none": {}} {
		if _, err := DecodeEntries(data, 2); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := EncodeEntries([][]byte{make([]byte, 1<<16)}); err == nil {
		t.Error("a leaf that is too long was written")
	}
}

func FuzzParseTile(f *testing.F) {
	f.Add("tile/0/x001/x234/067")
	f.Add("tile/entries/005.p/17")
	f.Fuzz(func(t *testing.T, path string) {
		if tile, err := ParseTile(path); err == nil && tile.Path() != path {
			t.Errorf("%q %q", path, tile.Path())
		}
	})
}
