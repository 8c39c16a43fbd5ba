package server

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/netip"
	"sync"
	"time"

	"github.com/perstack-go/perstack/internal/registry/api"
)

// maxSeen bounds the memory that telling readers apart takes: 16 bytes each.
const maxSeen = 1 << 20

// A readCounter counts reads of versions. A reader counts once a day for a version. What it keeps about
// readers are hashes with a salt that is forgotten when the day ends.
type readCounter struct {
	random io.Reader

	mu     sync.Mutex
	day    int64
	salt   [32]byte
	seen   map[[16]byte]struct{}
	counts map[readOf]int64 // not stored yet
}

type readOf struct {
	day           int64
	name, version string
}

func newReadCounter(random io.Reader) *readCounter {
	return &readCounter{random: random, day: -1, counts: map[readOf]int64{}}
}

// CountRead counts that somebody read the content of a version. It stores nothing; see [Registry.StoreReads].
func (r *Registry) CountRead(name, version string, from netip.Addr) error {
	c := r.reads
	c.mu.Lock()
	defer c.mu.Unlock()
	if day := dayOf(r.opts.Now()); day != c.day {
		if _, err := io.ReadFull(c.random, c.salt[:]); err != nil {
			return fmt.Errorf("there are no random numbers to count reads: %w", err)
		}
		c.day, c.seen = day, map[[16]byte]struct{}{}
	}
	bits := 24
	if from = from.Unmap(); from.Is6() {
		bits = 48
	}
	near, err := from.Prefix(bits)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(fmt.Appendf(c.salt[:len(c.salt):len(c.salt)], "%s %s@%s", near, name, version))
	reader := [16]byte(sum[:16])
	if _, again := c.seen[reader]; again || len(c.seen) >= maxSeen {
		return nil
	}
	c.seen[reader] = struct{}{}
	c.counts[readOf{c.day, name, version}]++
	return nil
}

func dayOf(t time.Time) int64 { return t.Unix() / secondsOfDay }

// StoreReads adds what was counted since the last call to the database. A registry calls it now and then, and
// when it ends.
func (r *Registry) StoreReads(ctx context.Context) error {
	c := r.reads
	c.mu.Lock()
	counts := c.counts
	c.counts = map[readOf]int64{}
	c.mu.Unlock()
	if len(counts) == 0 || r.opts.ReadOnly {
		return nil
	}
	err := r.update(ctx, func(t *change) error {
		for of, n := range counts {
			err := t.exec(`INSERT INTO reads (expert_id, day, version_id, count)
				SELECT e.id, CAST($1 AS BIGINT), v.id, CAST($2 AS BIGINT) FROM versions v JOIN experts e ON e.id = v.expert_id WHERE e.name = $3 AND v.version = $4
				ON CONFLICT (expert_id, day, version_id) DO UPDATE SET count = reads.count + excluded.count`, of.day, n, of.name, of.version)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil { // they are tried again
		c.mu.Lock()
		defer c.mu.Unlock()
		for of, n := range counts {
			c.counts[of] += n
		}
	}
	return err
}

// statsWindow is how far back the statistics of an Expert go.
const statsWindow = 90 * 24 * time.Hour

// Reads returns how often an Expert was read on each day of the last 90 that had reads.
func (r *Registry) Reads(ctx context.Context, by Actor, name string) (all []api.DayReads, err error) {
	all = []api.DayReads{}
	err = r.view(ctx, func(l *look) error {
		found, err := l.visible(by, name)
		if err != nil {
			return err
		}
		return l.each("SELECT day, SUM(count) FROM reads WHERE expert_id = $1 AND day > $2 GROUP BY day ORDER BY day", []any{found[0].expertID, dayOf(r.opts.Now().Add(-statsWindow))}, func(scan func(...any) error) error {
			var day, n int64
			err := scan(&day, &n)
			all = append(all, api.DayReads{Day: time.Unix(day*secondsOfDay, 0).UTC().Format(time.DateOnly), Reads: n})
			return err
		})
	})
	return all, err
}
