package expert

import "testing"

func TestReasoningBudget(t *testing.T) {
	for _, c := range []struct {
		in     string
		tokens int
		off    bool
	}{
		{"none", 0, true}, {"minimal", 1024, false}, {"low", 2048, false}, {"medium", 5000, false}, {"high", 10000, false},
		{"0", 0, true}, {"3000", 3000, false},
	} {
		b, err := ParseReasoningBudget(c.in)
		if err != nil || b.Tokens() != c.tokens || b.Off() != c.off || b.String() != c.in {
			t.Errorf("%q: %q, %d tokens, off %v, error %v", c.in, b, b.Tokens(), b.Off(), err)
		}
	}
	for _, in := range []string{"", "Low", "-1", "+1", "1.5", "99999999999", "lots"} {
		if b, err := ParseReasoningBudget(in); err == nil {
			t.Errorf("%q is accepted as %q", in, b)
		}
	}
	var unset ReasoningBudget
	if unset.Off() || unset.Tokens() != 0 {
		t.Error("an unset budget is not the same as none")
	}
	if b, err := ParseReasoningBudget("007"); err != nil || b != "7" {
		t.Errorf("007 is read as %q, %v", b, err)
	}
}
