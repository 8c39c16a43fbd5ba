package wire_test

import (
	"math/rand/v2"
	"testing"

	"github.com/perstack-go/perstack/internal/providers/wire"
)

func TestSlim(t *testing.T) {
	for _, tt := range []struct {
		media []int
		limit int
		first int
	}{
		{nil, 10, 0},
		{[]int{10}, 10, 0},
		{[]int{11}, 10, 0}, // the newest stays, whatever it weighs
		{[]int{5, 5}, 10, 0},
		{[]int{5, 5, 1}, 10, 2}, // half is freed at once,
		{[]int{5, 5, 1, 4, 5}, 10, 2},
		{[]int{5, 5, 1, 4, 6}, 10, 4},
		{[]int{0, 0, 11, 0}, 10, 3}, // only while it is the newest
		{[]int{1, 1, 20}, 10, 2},
	} {
		if got := wire.Slim(tt.media, tt.limit); got != tt.first {
			t.Errorf("%v within %d: the first %d are slim, want %d", tt.media, tt.limit, got, tt.first)
		}
	}
}

// What is slim stays slim, what is sent is within the limit or the newest alone, and the
// start of a conversation changes seldom.
func TestSlimInLongConversations(t *testing.T) {
	const limit = 1000
	noise := rand.New(rand.NewPCG(1, 2))
	var media []int
	before, changes := 0, 0
	for i := range 2000 {
		media = append(media, noise.IntN(100))
		first := wire.Slim(media, limit)
		kept := 0
		for _, weight := range media[first:] {
			kept += weight
		}
		switch {
		case first < before || first > i:
			t.Fatalf("message %d: %d, and %d before", i, first, before)
		case kept > limit:
			t.Fatalf("message %d: %d of %d", i, kept, limit)
		case first > before:
			changes++
		}
		before = first
	}
	if changes > 250 { // 100000 in all, of which at least 400 are freed at once
		t.Errorf("the start changed %d times", changes)
	}
}
