package sweep

import (
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/testkit/attack"
)

func TestMain(m *testing.M) {
	sandbox.Init()
	VictimIfAsked()
	os.Exit(m.Run())
}

func options(t *testing.T) Options {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// What a test finds must not be a matter of luck. To look for more, try other seeds.
	return Options{Program: program, Dir: t.TempDir(), Seed: 1, Parallel: runtime.GOMAXPROCS(0)}
}

// TestSweep kills jobs at every failpoint, resumes them, and finds nothing lost and
// nothing done twice. Some are killed again when they are resumed, some lose what was not
// flushed, some are told to stop instead, and some are not resumed but given another query.
func TestSweep(t *testing.T) {
	opts := options(t)
	opts.Again, opts.PowerCut, opts.Signals, opts.Overtake, opts.Takes = 15, 25, 20, 10, 30
	if raced {
		opts.Every, opts.Again, opts.PowerCut, opts.Signals, opts.Overtake, opts.Takes = 120, 1, 1, 1, 1, 3 // make sweep does all of it
	}
	var all Summary
	swept := 0
	for _, job := range Jobs() {
		t.Run(job.Name, func(t *testing.T) {
			opts.Jobs = []Job{job}
			s, err := Run(t.Context(), opts)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range s.Findings {
				t.Error(f)
			}
			all.Add(s)
			swept++
		})
	}
	if swept < len(Jobs()) {
		return // not all were asked for, or one could not be swept
	}
	if all.Failpoints < 3000 || all.Kills < all.Failpoints/max(opts.Every, 1) {
		t.Errorf("%d failpoints and %d kills are fewer than there must be", all.Failpoints, all.Kills)
	}
	if all.Attacks < 5*all.Kills || all.Held != all.Attacks || all.Taken < len(Jobs()) {
		t.Errorf("%d attacks on %d killed jobs, %d held, %d journals taken away", all.Attacks, all.Kills, all.Held, all.Taken)
	}
	attack.Held(t, "T1", all.Attacks)
	attack.Held(t, "T2", all.Taken)
	for _, kind := range strings.Fields("write tear sync rename append commit emit ask answered call called") {
		if all.Kinds[kind] == 0 {
			t.Errorf("no failpoint of the kind %q", kind)
		}
	}
	t.Logf("%v", all.Kinds)
	t.Log(all)
}

// The sweep notices a process that loses, repeats or changes something.
func TestSweepNotices(t *testing.T) {
	if raced {
		t.Skip("it is about the sweep, not about races: make sweep runs it")
	}
	tests := []struct {
		job   string
		fault string
		want  []string // among the findings
	}{
		{"alone", forgets, []string{loss + ": a record is gone", repeat}},
		{"alone", repeats, []string{repeat + ": work / lead-", "ran 2 times"}},
		{"alone", strays, []string{change + ": lead: record "}},
		{"alone", shouts, []string{loss + ": event nothing was shown"}},
		{"alone", reneges, []string{change}},
		{"alone", trusts, []string{"a history was accepted that was cut back, the head removed", "accepted that was changed", "accepted that was without seals", "accepted that was moved to another project", "with another key"}},
		{"asking", dawdles, []string{"asking, "}},
		{"pair-in-turn", forgets, []string{loss, repeat + ": the generation "}},
		{"pair-in-turn", repeats, []string{repeat, "has an effect, and ran 2 times"}},
	}
	for _, tt := range tests {
		t.Run(tt.job+" "+tt.fault, func(t *testing.T) {
			opts := options(t)
			opts.Every, opts.Sabotage = 3, tt.fault // odd, or it would keep step with the turns of a job and meet the same few kinds
			if tt.fault == dawdles {
				opts.Every, opts.PowerCut = 1000, 50
			}
			opts.Jobs = slices.DeleteFunc(Jobs(), func(j Job) bool { return j.Name != tt.job })
			s, err := Run(t.Context(), opts)
			if err != nil {
				t.Fatal(err)
			}
			found := strings.Join(s.Findings, "\n")
			for _, want := range tt.want {
				if !strings.Contains(found, want) {
					t.Errorf("%q is not among what was found:\n%s", want, found)
				}
			}
		})
	}
}
