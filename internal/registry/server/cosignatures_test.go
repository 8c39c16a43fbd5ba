package server

import (
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/tlog"
)

func newCosigner(t *testing.T, name string) *tlog.Cosigner {
	t.Helper()
	c, _, err := tlog.NewCosigner(rand.Reader, name, func() time.Time { return time.Unix(1_700_000_000, 0) })
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// cosign lets a witness cosign the newest checkpoint.
func (s *site) cosign(c *tlog.Cosigner) int64 {
	s.t.Helper()
	at, _, err := s.Newest(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	line, err := c.Line(at)
	if err == nil {
		err = s.AddCosignature(s.t.Context(), at.Size, c.Witness, line)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return at.Size
}

// Checkpoints carry the cosignatures that were received. A client that asks for some gets an answer against the
// newest checkpoint that has them, unless what it asks for is newer.
func testCosignatures(t *testing.T, s *site) {
	by := s.org("acme", Personal)
	s.mustPublish(by, content("old", "1.0.0"))
	one, two := newCosigner(t, "w1"), newCosigner(t, "w2")
	size := s.cosign(one)
	if again := s.cosign(one); again != size { // a second one changes nothing
		t.Error(again)
	}
	resolve := func(key string, count int, from int64, witnesses ...string) (string, int64) {
		t.Helper()
		out, err := s.Resolve(t.Context(), Actor{}, api.Resolve{Keys: []string{key}, Closure: true, From: from, Witnesses: witnesses, Cosignatures: count})
		if err != nil {
			t.Fatal(err)
		}
		c, _, err := tlog.OpenCheckpoint([]byte(out.Checkpoint), origin, s.verifier)
		if err != nil {
			t.Fatal(err)
		}
		if err := tlog.CheckLeaf(out.Experts[0].Entry.Proof, c, out.Experts[0].Entry.Index, []byte(out.Experts[0].Entry.Leaf)); err != nil {
			t.Error(err)
		}
		return out.Checkpoint, c.Size
	}
	if text, at := resolve("old", 0, 0); at != size || len(tlog.Cosignatures([]byte(text), one.Witness, two.Witness)) != 1 {
		t.Errorf("the newest checkpoint is of %d and says %s", at, text)
	}
	s.mustPublish(by, content("new", "1.0.0"))
	ids := []string{one.Witness.ID(), two.Witness.ID()}
	newest := size + 1
	for name, tt := range map[string]struct {
		key   string
		count int
		from  int64
		want  int64
	}{
		"nothing asked for":       {"old", 0, 0, newest},
		"old Expert":              {"old", 1, size, size},
		"new Expert":              {"new", 1, 0, newest},
		"client knows a newer":    {"old", 1, newest, newest},
		"more than there are yet": {"old", 2, 0, newest},
	} {
		if _, at := resolve(tt.key, tt.count, tt.from, ids...); at != tt.want {
			t.Errorf("%s: proved against %d, not %d", name, at, tt.want)
		}
	}
	if _, at := resolve("old", 1, 0, two.Witness.ID()); at != newest {
		t.Error("a witness counts for another one")
	}
	signed, err := s.CosignedCheckpoint(t.Context(), Cosigned{ids, 1, 0})
	if err != nil || !strings.Contains(string(signed), "\n— w1 ") {
		t.Errorf("%s %v", signed, err)
	}
	s.cosign(one)
	s.cosign(two)
	if text, at := resolve("new", 2, 0, ids...); at != newest || len(tlog.Cosignatures([]byte(text), one.Witness, two.Witness)) != 2 {
		t.Errorf("%d %s", at, text)
	}
	for _, want := range []Cosigned{{nil, 1, 0}, {ids, 3, 0}, {ids, -1, 0}, {make([]string, maxWitnesses+1), 1, 0}} {
		if _, err := s.CosignedCheckpoint(t.Context(), want); err == nil {
			t.Errorf("%+v", want)
		}
	}
	line, err := one.Line(tlog.Checkpoint{Origin: origin, Size: newest})
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int64{newest, 99} {
		if err := s.AddCosignature(t.Context(), size, one.Witness, line); err == nil {
			t.Error("a cosignature of something else was stored")
		}
	}
	if all := s.problems(); len(all) != 0 {
		t.Error(all)
	}
	s.sql("INSERT INTO cosignatures (log, size, witness, key, line) VALUES ($1, 1, 'w1', 'x', 'y')", origin)
	s.sql("INSERT INTO cosignatures (log, size, witness, key, line) VALUES ($1, 99, $2, $3, $4)", origin, one.Witness.ID(), one.Witness.String(), line)
	if all := s.problems(); len(all) != 2 || !strings.HasPrefix(all[0], "cosignature of w1") {
		t.Error(all)
	}
}
