package event

import "testing"

func TestSkippedCheck(t *testing.T) {
	for b, want := range map[*SandboxCheck]bool{
		{Check: "cells", OK: true, Message: "not wanted: all skills share one"}: true,
		{Check: "cells", Message: "not wanted: all skills share one"}:           false,
		{Check: "cells", OK: true, Message: "5 attempts refused"}:               false,
		{Check: "cells", OK: true}:                                              false,
	} {
		why, got := b.Skipped()
		if got != want || got && why != "all skills share one" {
			t.Errorf("%+v: %q, %t", b, why, got)
		}
	}
}
