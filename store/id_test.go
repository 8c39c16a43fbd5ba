package store_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/storetest"
)

func TestCheckID(t *testing.T) {
	for _, id := range []string{"a", "7", "A-b_c.d", "t4q8x1n6b0z5k2m9r7c3w1ya", "console", "com10", "a..b", strings.Repeat("a", 128)} {
		if err := store.CheckID(id); err != nil {
			t.Errorf("CheckID(%q) = %v", id, err)
		}
	}
	for _, id := range storetest.BadIDs {
		err := store.CheckID(id)
		if !errors.Is(err, store.ErrBadID) {
			t.Errorf("CheckID(%q) = %v, want ErrBadID", id, err)
			continue
		}
		// The message goes to a terminal: untrusted text must not act there.
		if strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' || r == 0x202e }) || len(err.Error()) > 200 {
			t.Errorf("CheckID(%q) = %q", id, err)
		}
	}
}
