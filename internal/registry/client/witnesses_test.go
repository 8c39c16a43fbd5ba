package client

import (
	"context"
	"crypto/rand"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/tlog"
	"github.com/perstack-go/perstack/internal/testkit/registrytest"
)

func newCosigner(t testing.TB, name string) (*tlog.Cosigner, string) {
	t.Helper()
	c, _, err := tlog.NewCosigner(rand.Reader, name, func() time.Time { return time.Unix(1_700_000_000, 0) })
	if err != nil {
		t.Fatal(err)
	}
	return c, c.Witness.String()
}

// A checkpoint with fewer valid cosignatures than the user requires is refused, and nothing of it is stored.
func TestWitnesses(t *testing.T) {
	one, oneKey := newCosigner(t, "w1")
	two, twoKey := newCosigner(t, "w2")
	other, _ := newCosigner(t, "w1") // same name, another key
	for name, tt := range map[string]struct {
		cosigners []*tlog.Cosigner
		required  int
		refused   string
	}{
		"none required": {nil, 0, ""},
		"one of two":    {[]*tlog.Cosigner{two}, 1, ""},
		"two of two":    {[]*tlog.Cosigner{two, one}, 2, ""},
		"none":          {nil, 1, "cosigned by none, and your configuration requires 1 of " + one.Witness.ID() + " and " + two.Witness.ID()},
		"too few":       {[]*tlog.Cosigner{one}, 2, "cosigned by " + one.Witness.ID() + ","},
		"another key":   {[]*tlog.Cosigner{other}, 1, "cosigned by none"},
	} {
		t.Run(name, func(t *testing.T) {
			r := published(t)
			r.Cosigners = tt.cosigners
			o := options(t, r)
			o.Witnesses, o.RequireWitnesses = []string{oneKey, twoKey}, tt.required
			c := open(t, o)
			_, err := c.Resolve(t.Context(), "helper")
			report, auditErr := c.Audit(t.Context(), "", nil)
			if tt.refused == "" {
				if err != nil || auditErr != nil || len(report.Cosignatures) != len(tt.cosigners) {
					t.Fatal(err, auditErr, report)
				}
				return
			}
			wantError(t, err, Unverified, tt.refused, "try again later")
			wantError(t, auditErr, Unverified, tt.refused)
			if head, err := c.log.Head(); err != nil || head.Known() {
				t.Error("something was stored", head, err)
			}
		})
	}
}

// A client waits for the cosignatures of a new checkpoint, for a bounded time, and after a publication too.
func TestWaitForWitnesses(t *testing.T) {
	one, key := newCosigner(t, "w1")
	r := published(t)
	r.Key = "secret"
	o := options(t, r)
	o.Witnesses, o.RequireWitnesses, o.Key = []string{key}, 1, r.Key
	waits := 0
	o.Wait = func(context.Context, time.Duration) error {
		waits++
		if waits == 3 {
			r.Change(func() { r.Cosigners = []*tlog.Cosigner{one} })
		}
		return nil
	}
	c := open(t, o)
	if _, err := c.Resolve(t.Context(), "helper"); err != nil || waits != 3 {
		t.Error(waits, err)
	}
	r.Change(func() { r.Cosigners = nil })
	waits = 2
	if e, err := c.Publish(t.Context(), api.Publish{Content: registrytest.Minimal("fresh@1.0.0").Encode()}); err != nil || e.Key != "fresh@1.0.0" || waits != 3 {
		t.Error(e, waits, err)
	}
	r.Change(func() { r.Cosigners = nil })
	waits = 10
	_, err := c.Resolve(t.Context(), "helper")
	wantError(t, err, Unverified, "cosigned by none")
	if waits != 10+maxCosignatureWaits {
		t.Error(waits)
	}
}

func TestWitnessOptions(t *testing.T) {
	_, key := newCosigner(t, "w1")
	r := published(t)
	for _, tt := range []struct {
		keys     []string
		required int
		says     string
	}{
		{[]string{"x"}, 0, "not the key of a witness"}, {[]string{r.LogKey}, 1, "of another type"}, {[]string{key}, 2, "2 cosignatures are required"},
		{nil, 1, "are required"}, {[]string{key, key}, 2, "are the same key"},
	} {
		o := options(t, r)
		o.Witnesses, o.RequireWitnesses = tt.keys, tt.required
		_, err := New(o)
		wantError(t, err, Configuration, tt.says)
	}
	// A registry without a log cannot have witnesses.
	original := registrytest.New(t, httptest.NewServer)
	original.Original = true
	o := options(t, original)
	o.Witnesses, o.RequireWitnesses = []string{key}, 1
	_, err := open(t, o).Resolve(t.Context(), "helper")
	wantError(t, err, Unverified, "has no log")
}
