package storetest

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/perstack-go/perstack/store"
)

// A Damage is a journal that is not what was written.
type Damage struct {
	Name string
	Data []byte
	// Seq is the first record that is not what was written, which store.Verify must
	// name. It is 0 where the journal alone, with the head on record, cannot tell.
	Seq int64
}

// Damages returns what can be done to the journal of [Sample], which has 11 records and
// whose head is on record, and what must be found.
func Damages(jobID string, journal []byte) ([]Damage, error) {
	lines := bytes.SplitAfter(journal, []byte("\n"))
	lines = lines[:len(lines)-1]
	if len(lines) != 11 {
		return nil, fmt.Errorf("the journal has %d records, want 11", len(lines))
	}
	var all []Damage
	add := func(seq int64, name string, lines ...[]byte) {
		all = append(all, Damage{name, bytes.Join(lines, nil), seq})
	}
	changed := func(n int, before, after string) [][]byte {
		line := bytes.Replace(lines[n-1], []byte(before), []byte(after), 1)
		return slices.Concat(lines[:n-1], [][]byte{line}, lines[n:])
	}
	without := func(n int) [][]byte { return slices.Concat(lines[:n-1], lines[n:]) }

	for _, n := range []int{1, 6, 11} {
		seq, at := int64(n), fmt.Sprintf(" of record %d", n)
		add(seq, "number"+at, changed(n, fmt.Sprintf(`"seq":%d`, n), fmt.Sprintf(`"seq":%d`, n+16))...)
		add(seq, "link"+at, changed(n, string(lines[n-1][:30]), flipped(lines[n-1][:30], 24))...)
		add(seq, "body"+at, changed(n, `"timestamp":1`, `"timestamp":2`)...)
		add(seq, "type"+at, changed(n, `"type":"`, `"type":"X`)...)
		add(seq, "job"+at, changed(n, `"jobId":"`, `"jobId":"x`)...)
		add(seq, "space"+at, changed(n, `,"event":`, `, "event":`)...)
		add(seq, "newline"+at, changed(n, "\n", " ")...)
		add(seq, "a bit that is no text"+at, changed(n, `"type"`, "\"\xf4ype\"")...)
		add(seq, "removal"+at, without(n)...)
		add(seq, "cut in the middle"+at, append(slices.Clone(lines[:n-1]), lines[n-1][:len(lines[n-1])/2])...)
		add(seq, "cut before"+at[3:], lines[:n-1]...)
		add(seq, "garbage before"+at[3:], slices.Concat(lines[:n-1], [][]byte{[]byte("garbage\n")}, lines[n-1:])...)
		add(seq+1, "duplicate"+at, slices.Concat(lines[:n], lines[n-1:])...)
	}
	add(1, "first two records swapped", slices.Concat([][]byte{lines[1], lines[0]}, lines[2:])...)
	add(5, "two records swapped", slices.Concat(lines[:4], [][]byte{lines[5], lines[4]}, lines[6:])...)
	add(10, "last two records swapped", slices.Concat(lines[:9], [][]byte{lines[10], lines[9]})...)
	add(2, "empty line", slices.Concat(lines[:1], [][]byte{[]byte("\n")}, lines[1:])...)
	add(12, "garbage at the end", slices.Concat(lines, [][]byte{[]byte("garbage\n")})...)
	add(1, "everything gone")

	// With the right links, and the head as it was.
	chain := store.Chain{JobID: jobID}
	for _, line := range lines[:10] {
		if err := chain.Skip(bytes.TrimSuffix(line, []byte("\n"))); err != nil {
			return nil, err
		}
	}
	forged, err := chain.Next(Note(jobID, 1, "forged"))
	if err != nil {
		return nil, err
	}
	add(11, "another last record", slices.Concat(lines[:10], [][]byte{append(forged.Line, '\n')})...)
	foreign, err := store.EncodeRecord(11, chain.Head.Digest, Note("other", 1, "x"))
	if err != nil {
		return nil, err
	}
	add(11, "record of another job", slices.Concat(lines[:10], [][]byte{append(foreign.Line, '\n')})...)
	if err := chain.Skip(bytes.TrimSuffix(lines[10], []byte("\n"))); err != nil {
		return nil, err
	}
	if forged, err = chain.Next(Note(jobID, 1, "forged")); err != nil {
		return nil, err
	}
	// A writer that was killed before it could save the head leaves the same.
	add(0, "forged record behind the head", slices.Concat(lines, [][]byte{append(forged.Line, '\n')})...)
	return all, nil
}

// flipped returns text with the lowest bit of one of its bytes changed, which turns a
// hexadecimal digit into another.
func flipped(text []byte, at int) string {
	text = bytes.Clone(text)
	text[at] ^= 1
	return string(text)
}

// Lines is a back end that reads one journal and checks nothing but that its lines are
// records. What else is wrong is for store.Verify to find.
type Lines struct {
	store.Store
	Data []byte
	Head store.Head // on record
}

// Read implements [store.Store].
func (l Lines) Read(_ context.Context, jobID string, _ int64) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		n := int64(0)
		for line := range bytes.Lines(l.Data) {
			line, complete := bytes.CutSuffix(line, []byte("\n"))
			if !complete {
				return
			}
			r, err := store.DecodeRecord(line)
			if err != nil && r.Line == nil {
				err = (&store.Chain{JobID: jobID, Head: store.Head{Seq: n}}).Damage("%v", err)
			}
			if n++; !yield(r, err) || err != nil && r.Line == nil {
				return
			}
		}
	}
}

// RecordedHead implements [store.HeadKeeper].
func (l Lines) RecordedHead(context.Context, string) (store.Recorded, error) {
	return store.Recorded{Head: l.Head}, nil
}
