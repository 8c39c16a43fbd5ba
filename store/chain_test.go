package store_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/storetest"
)

const zeros = "0000000000000000000000000000000000000000000000000000000000000000"

func sample(t testing.TB) []store.Record {
	t.Helper()
	chain := store.Chain{JobID: "job1"}
	var records []store.Record
	for _, e := range storetest.Sample("job1") {
		r, err := chain.Next(e)
		if err == nil {
			err = chain.Accept(r)
		}
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, r)
	}
	return records
}

func TestRecordRoundTrip(t *testing.T) {
	for _, want := range sample(t) {
		got, err := store.DecodeRecord(want.Line)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("record %d (-want +got):\n%s", want.Seq, diff)
		}
		if !bytes.HasPrefix(want.Line, []byte(`{"seq":`)) || bytes.ContainsAny(want.Line, "\n\r") {
			t.Errorf("line: %s", want.Line)
		}
		if &append(want.Line, '\n')[0] != &want.Line[0] {
			t.Error("there is no space for the newline")
		}
	}
}

// A line that cannot be decoded is described in the words of the format, not of the decoder.
func TestMalformed(t *testing.T) {
	line := string(sample(t)[0].Line)
	for name, tt := range map[string]struct{ line, want string }{
		"cut":            {line[:20], "it is not valid JSON"},
		"a name twice":   {`{"seq":1,` + line[1:], "it is not valid JSON"},
		"a list":         {"[]", "it is not a JSON object"},
		"digest":         {strings.Replace(line, `"prev":"00`, `"prev":"xy`, 1), `its member "/prev" cannot be read`},
		"number":         {strings.Replace(line, `"seq":1`, `"seq":"1"`, 1), `its member "/seq" cannot be read`},
		"another member": {`{"mood":1,` + line[1:], `it has a member "/mood", which no record has`},
		"event":          {strings.Replace(line, `"timestamp":`, `"timestamp":[],"_":`, 1), `its member "/timestamp" cannot be read`},
		"no event":       {`{"seq":1,"prev":"` + zeros + `","version":3}`, "it has no event"},
	} {
		_, err := (&store.Chain{JobID: "job1"}).Decode([]byte(tt.line))
		damage, ok := errors.AsType[*store.DamageError](err)
		if !ok || damage.Seq != 1 || !strings.HasSuffix(damage.Reason, tt.want) || strings.Contains(damage.Reason, "Go ") {
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
	}
}

// Keeping an event does not keep the line that it came from in memory.
func TestEventsLetGoOfTheirLine(t *testing.T) {
	records := sample(t)
	newer := bytes.Replace(records[5].Line, []byte(`"type":"`), []byte(`"mood":{"good":true},"type":"`), 1)
	for _, line := range [][]byte{records[1].Line, records[3].Line, records[5].Line, newer} {
		want, err := store.DecodeRecord(bytes.Clone(line))
		if err != nil {
			t.Fatal(err)
		}
		got, err := store.DecodeRecord(line)
		if err != nil {
			t.Fatal(err)
		}
		for i := range line {
			line[i] = 'x'
		}
		if diff := cmp.Diff(want.Event, got.Event); diff != "" {
			t.Errorf("record %d changed with its line (-want +got):\n%s", got.Seq, diff)
		}
	}
}

// Text that would break a line, or is no text at all, cannot get out of its record.
func TestHostileText(t *testing.T) {
	for _, text := range []string{"a\nb", "\r\n", "\x00", "\xff\xfe", "\u2028", `"}` + "\n{", strings.Repeat("\n", 1000)} {
		r, err := store.EncodeRecord(1, store.Digest{}, storetest.Note("job1", 1, text))
		if err != nil || bytes.IndexByte(r.Line, '\n') >= 0 {
			t.Errorf("%q: %s, %v", text, r.Line, err)
		}
		if _, err := store.DecodeRecord(r.Line); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// One spelling is right, and each of these is another.
func TestDecodeIsStrict(t *testing.T) {
	e := `{"type":"startGeneration","id":"e","expertKey":"k","timestamp":1,"jobId":"job1","runId":"r","stepNumber":1}`
	good := `{"seq":1,"prev":"` + zeros + `","version":3,"event":` + e + `}`
	if _, err := store.DecodeRecord([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for name, line := range map[string]string{
		"empty":            ``,
		"null":             `null`,
		"list":             `[]`,
		"no members":       `{}`,
		"no number":        `{"prev":"` + zeros + `","event":` + e + `}`,
		"number 0":         strings.Replace(good, `"seq":1`, `"seq":0`, 1),
		"negative number":  strings.Replace(good, `"seq":1`, `"seq":-1`, 1),
		"fraction":         strings.Replace(good, `"seq":1`, `"seq":1.5`, 1),
		"number as text":   strings.Replace(good, `"seq":1`, `"seq":"1"`, 1),
		"huge number":      strings.Replace(good, `"seq":1`, `"seq":9223372036854775808`, 1),
		"null number":      strings.Replace(good, `"seq":1`, `"seq":null`, 1),
		"no prev":          `{"seq":1,"version":3,"event":` + e + `}`,
		"null prev":        strings.Replace(good, `"`+zeros+`"`, `null`, 1),
		"short prev":       strings.Replace(good, zeros, zeros[2:], 1),
		"long prev":        strings.Replace(good, zeros, zeros+"00", 1),
		"upper-case prev":  strings.Replace(good, zeros, strings.Repeat("A", 64), 1),
		"prev of letters":  strings.Replace(good, zeros, strings.Repeat("g", 64), 1),
		"no event":         `{"seq":1,"prev":"` + zeros + `","version":3}`,
		"null event":       strings.Replace(good, e, `null`, 1),
		"event as text":    strings.Replace(good, e, `"x"`, 1),
		"unknown member":   strings.Replace(good, `{"seq"`, `{"x":1,"seq"`, 1),
		"doubled member":   strings.Replace(good, `{"seq":1`, `{"seq":1,"seq":1`, 1),
		"other case":       strings.Replace(good, `"seq"`, `"Seq"`, 1),
		"doubled in event": strings.Replace(good, `"id":"e"`, `"id":"e","id":"f"`, 1),
		"case in event":    strings.Replace(good, `"type"`, `"Type"`, 1),
		"something behind": good + `{}`,
		"version of text":  strings.Replace(good, `"version":3`, `"version":"3"`, 1),
		"later version":    strings.Replace(good, `"seq":1`, `"seq":2`, 1), // only the first record has one
		"invalid UTF-8":    strings.Replace(good, `"id":"e"`, "\"id\":\"\xff\"", 1),
	} {
		if r, err := store.DecodeRecord([]byte(line)); err == nil {
			t.Errorf("%s: decoded as %+v", name, r)
		}
	}
}

// A journal of another version is not damage: its first record says what it is.
func TestOtherVersions(t *testing.T) {
	line := `{"seq":1,"prev":"` + zeros + `","version":3,"event":{"type":"startGeneration","id":"e","expertKey":"k","timestamp":1,"jobId":"job1","runId":"r","stepNumber":1}}`
	for _, tt := range []struct {
		member  string
		version int
		want    string
	}{
		{``, 1, "job job1 was recorded by an older, unreleased version of perstack and cannot be read; start a new job"},
		{`"version":1,`, 1, "older, unreleased version"},
		{`"version":4,`, 4, "job job1 was recorded by a newer version of perstack (journal version 4, this one reads 3); use that version"},
	} {
		old := []byte(strings.Replace(line, `"version":3,`, tt.member, 1))
		for name, read := range map[string]func(*store.Chain) error{
			"Decode": func(c *store.Chain) error { _, err := c.Decode(old); return err },
			"Skip":   func(c *store.Chain) error { return c.Skip(old) },
		} {
			version := (*store.VersionError)(nil)
			err := read(&store.Chain{JobID: "job1"})
			if !errors.As(err, &version) || version.Version != tt.version || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s of %q: %v", name, tt.member, err)
			}
		}
		// Behind other records it is only a record that does not belong there.
		damage := (*store.DamageError)(nil)
		if err := (&store.Chain{JobID: "job1", Head: store.Head{Seq: 1}}).Skip(old); !errors.As(err, &damage) {
			t.Errorf("%q as the second record: %v", tt.member, err)
		}
	}
}

// What a newer release adds to an event survives; its new types are told from damage.
func TestNewerReleases(t *testing.T) {
	line := `{"seq":1,"prev":"` + zeros + `","version":3,"event":{"type":"startGeneration","id":"e","expertKey":"k","timestamp":1,"jobId":"job1","runId":"r","stepNumber":1,"mood":"good"}}`
	r, err := store.DecodeRecord([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := store.EncodeRecord(r.Seq, r.Prev, r.Event); err != nil || string(again.Line) != line {
		t.Errorf("%s, %v", again.Line, err)
	}
	line = strings.Replace(line, "startGeneration", "startDreaming", 1)
	r, err = store.DecodeRecord([]byte(line))
	if !errors.Is(err, event.ErrUnknownType) || r.Seq != 1 || r.Event.Body != nil || string(r.Line) != line {
		t.Errorf("%+v, %v", r, err)
	}
}

// broken is a back end that checks nothing, so that Verify must.
type broken struct {
	store.Store
	records []store.Record
	head    store.Head
}

func (b broken) Read(context.Context, string, int64) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		for _, r := range b.records {
			if !yield(r, nil) {
				return
			}
		}
	}
}

func (b broken) RecordedHead(context.Context, string) (store.Recorded, error) {
	return store.Recorded{Head: b.head}, nil
}

func TestVerify(t *testing.T) {
	all := sample(t)
	head := func(i int) store.Head { return store.Head{Seq: all[i].Seq, Digest: all[i].Digest()} }
	changed := append([]store.Record{}, all...)
	changed[4].Line = append(bytes.Clone(changed[4].Line), ' ')
	late := append([]store.Record{}, all...)
	late[9].Line = append(bytes.Clone(late[9].Line), ' ')
	tests := []struct {
		name    string
		records []store.Record
		head    store.Head
		good    int64
		bad     int64 // 0: it is sound
	}{
		{"sound", all, head(10), 11, 0},
		{"head behind the end", all, head(3), 11, 0},
		{"no head on record", all, store.Head{}, 11, 0},
		{"nothing", nil, store.Head{}, 0, 0},
		{"cut", all[:7], head(10), 7, 8},
		{"gone", nil, head(10), 0, 1},
		{"another history", all, store.Head{Seq: 7, Digest: all[7].Digest()}, 6, 7},
		{"changed", changed, head(10), 4, 5},
		{"changed before the last", late, head(10), 9, 10},
		{"changed before the last, no head to tell", late, store.Head{}, 9, 10},
		{"left out", append(append([]store.Record{}, all[:3]...), all[4:]...), head(10), 3, 4},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			report, err := store.Verify(t.Context(), broken{records: test.records, head: test.head}, "job1")
			if report.Records != test.good || report.Recorded != test.head {
				t.Errorf("report %+v", report)
			}
			var damage *store.DamageError
			if test.bad == 0 && err != nil || test.bad != 0 && (!errors.As(err, &damage) || damage.Seq != test.bad) {
				t.Errorf("%v, want damage at record %d", err, test.bad)
			}
		})
	}
	_, err := store.Verify(t.Context(), broken{records: all[:7], head: head(10)}, "job1")
	if want := "journal of job job1 is damaged at record 8: the journal was cut back: it ends at record 7, but 11 were recorded; restore the journal from a backup"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// Whatever the bytes of a line: what is decoded is encoded to the same record again.
func FuzzDecodeRecord(f *testing.F) {
	for _, r := range sample(f) {
		f.Add(r.Line)
	}
	f.Add([]byte(`{"seq":1,"prev":"` + zeros + `","version":3,"event":{"type":"unheard"}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		r, err := store.DecodeRecord(line)
		if err != nil {
			return
		}
		if r.Seq < 1 || r.Event.Body == nil || !bytes.Equal(r.Line, line) {
			t.Fatalf("decoded as %+v", r)
		}
		first, err := store.EncodeRecord(r.Seq, r.Prev, r.Event)
		if err != nil {
			t.Fatal(err)
		}
		again, err := store.DecodeRecord(first.Line)
		if err != nil {
			t.Fatalf("its own line is refused: %v\n%s", err, first.Line)
		}
		second, err := store.EncodeRecord(again.Seq, again.Prev, again.Event)
		if err != nil || !bytes.Equal(first.Line, second.Line) {
			t.Fatalf("encoded differently (%v):\n%s\n%s", err, first.Line, second.Line)
		}
	})
}
