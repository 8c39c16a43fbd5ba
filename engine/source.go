package engine

import (
	"context"
	"crypto/rand"
	"fmt"
	mathrand "math/rand/v2"
	"strings"
	"sync"
	"time"
)

// A Source gives the engine what its input does not determine: time, ids and randomness.
// Everything else follows from the Expert, the query, and the answers of model and tools.
type Source interface {
	Now() time.Time
	// Sleep waits for d or until ctx is done, whichever is first.
	Sleep(ctx context.Context, d time.Duration) error
	// NewID returns an id that was not returned before.
	NewID() string
	// Fraction returns a random number in [0,1), used to vary retry delays.
	Fraction() float64
}

// SystemSource returns the Source of real runs.
func SystemSource() Source { return system{} }

type system struct{}

func (system) Now() time.Time { return time.Now() }

func (system) Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (system) Fraction() float64 { return mathrand.Float64() }

// NewID returns 24 letters and digits, the first of which is a letter. Other programs of the
// Perstack family expect this form.
func (system) NewID() string {
	for {
		if id := strings.ToLower(rand.Text())[:24]; id[0] >= 'a' {
			return id
		}
	}
}

// FixedSource returns a Source for reproducible runs: its clock starts at start and advances
// only in Sleep, and its ids are consecutive numbers.
func FixedSource(start time.Time) Source { return &fixed{now: start} }

type fixed struct {
	mu  sync.Mutex
	now time.Time
	ids int
}

func (f *fixed) Fraction() float64 { return 0 }

func (f *fixed) Now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

func (f *fixed) NewID() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ids++
	return fmt.Sprintf("id%022d", f.ids)
}

func (f *fixed) Sleep(ctx context.Context, d time.Duration) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(d)
	return ctx.Err()
}
