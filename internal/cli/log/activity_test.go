package log

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/store/memory"
)

// A person sees the same of a job, whether it is derived from the records of the journal or
// from the full events that the engine makes of them.
func TestActivitiesOfBothForms(t *testing.T) {
	s := memory.New()
	tellTeam(t, s)
	tellLong(t, s)
	tellTalk(t, s)
	tellHosted(t, s)
	tellQueue(t, s).end()
	for job, want := range map[string]map[event.ActivityType]int{
		"teamjob":   {event.ActivityQuery: 6, event.ActivityDelegate: 4, event.ActivityDelegationComplete: 2, event.ActivityComplete: 4, event.ActivityError: 1, event.ActivityStopped: 2, event.ActivityReadTextFile: 1},
		"hostedjob": {event.ActivityQuery: 2, event.ActivityProviderTool: 4, event.ActivityRetry: 1, event.ActivityReadTextFile: 1, event.ActivityComplete: 2},
		"queuejob":  {event.ActivityQuery: 3, event.ActivityDelegate: 3, event.ActivityStopped: 1},
		"longjob":   nil,
		"talkjob":   nil,
	} {
		var lean, full []event.Activity
		var leanLine, fullLine event.Timeline
		history := engine.NewHistory()
		for r, err := range s.Read(t.Context(), job, 0) {
			if err != nil {
				t.Fatal(err)
			}
			lean = append(lean, leanLine.Apply(r.Event)...)
			if e := history.Expand(r); !e.IsRecordOnly() {
				full = append(full, fullLine.Apply(e)...)
			}
		}
		if diff := cmp.Diff(lean, full); diff != "" {
			t.Errorf("%s: -lean +full\n%s", job, diff)
		}
		if leanLine.Complete() != fullLine.Complete() {
			t.Errorf("%s: complete %t in lean form, %t in full", job, leanLine.Complete(), fullLine.Complete())
		}
		got := make(map[event.ActivityType]int)
		for _, a := range lean {
			got[a.Type]++
		}
		if diff := cmp.Diff(want, got); diff != "" && want != nil {
			t.Errorf("%s: activities (-want +got)\n%s", job, diff)
		}
	}
}
