package store_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/rawjson"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/file"
	"github.com/perstack-go/perstack/store/memory"
	"github.com/perstack-go/perstack/store/storetest"
)

// odd draws text that has broken encoders: of no encoding at all, with line breaks,
// with characters that JSON escapes or a decoder may refuse.
func odd() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.String(),
		rapid.SampledFrom([]string{"", "\x00", "\n", "\r\n", "\u2028\u2029", "\ufeff", "\ufffd", `\ud800`, `"}` + "\n", "\U0010ffff", "</script>"}),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
	)
}

// Every record that Append accepts is read again as it was written, and an event that
// it refuses leaves no trace.
func TestAppendedIsReadable(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			rt.Fatal(err)
		}
		for _, s := range []store.Store{memory.New(), file.New(dir, nil)} {
			appendedIsReadable(t, rt, s)
		}
	})
}

func appendedIsReadable(t *testing.T, rt *rapid.T, s store.Store) {
	j, err := s.Open(t.Context(), "job1")
	if err != nil {
		rt.Fatal(err)
	}
	defer j.Close()
	var want []store.Record
	for i := range rapid.IntRange(1, 5).Draw(rt, "events") {
		e := storetest.Note("job1", i, odd().Draw(rt, "reason"))
		if rapid.Bool().Draw(rt, "deep") {
			e = storetest.Call("job1", i, rapid.IntRange(9_980, 10_010).Draw(rt, "depth"), odd().Draw(rt, "argument"))
		}
		if r, err := j.Append(t.Context(), e); err == nil {
			want = append(want, r)
		}
	}
	n := 0
	for got, err := range s.Read(t.Context(), "job1", 0) {
		if err != nil {
			rt.Fatalf("record %d was appended: %v", n+1, err)
		}
		if n == len(want) || !bytes.Equal(got.Line, want[n].Line) {
			rt.Fatalf("record %d was not appended: %.200s", got.Seq, got.Line)
		}
		sameEvent(rt, want[n].Event, got.Event)
		n++
	}
	if n != len(want) {
		rt.Fatalf("%d records, want %d", n, len(want))
	}
}

// sameEvent compares what was meant with what was read. Text that is no UTF-8 is
// replaced when it is written, so both are brought into that form.
func sameEvent(rt *rapid.T, want, got event.Event) {
	a, err := event.Marshal(want)
	if err != nil {
		rt.Fatal(err)
	}
	b, err := event.Marshal(got)
	if err != nil || !bytes.Equal(a, b) {
		rt.Fatalf("it reads as (%v)\n%.500s\nwant\n%.500s", err, b, a)
	}
	clean, err := event.Unmarshal(a)
	raw := cmp.Comparer(func(x, y rawjson.Value) bool { return bytes.Equal(x, y) }) // byte by byte it takes seconds
	if diff := cmp.Diff(clean, got, raw); err != nil || diff != "" {
		rt.Fatalf("event (-written +read, %v):\n%s", err, diff)
	}
}
