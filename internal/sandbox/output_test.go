package sandbox

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// However output is cut into chunks: the beginning and the end are kept, and the
// number of missing bytes is right.
func TestStream(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 20).Draw(t, "limit")
		chunks := rapid.SliceOf(rapid.StringMatching(`[a-z]{0,30}`)).Draw(t, "chunks")
		s := newStream(limit)
		for _, c := range chunks {
			s.write([]byte(c))
		}
		all := strings.Join(chunks, "")
		want := all
		if len(all) > limit {
			head := limit / 2
			tail := limit - head
			want = fmt.Sprintf("%s\n[... %d bytes left out ...]\n%s", all[:head], len(all)-limit, all[len(all)-tail:])
		}
		if got := s.output().String(); got != want {
			t.Fatalf("limit %d: got %q, want %q", limit, got, want)
		}
	})
}
