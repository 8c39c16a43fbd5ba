package secret

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWithin(t *testing.T) {
	var s Set
	s.Add("GIVEN", "sk-given-0123456789")
	s.Add("OTHER", "sk-other-0123456789")
	s.Add("TWICE", "first-value-123")
	s.Add("TWICE", "second-value-456")
	got := s.Within("key = sk-given-0123456789", "first-value-123 second-value-456")
	want := map[string]string{"GIVEN": "sk-given-0123456789", "TWICE": "first-value-123", "TWICE.2": "second-value-456"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if got := (*Set)(nil).Within("x"); len(got) != 0 {
		t.Errorf("of no set: %v", got)
	}
}
