package tui

import (
	"testing"

	"github.com/perstack-go/perstack/event"
)

// A conversation that is open shows what another process adds to its job, and follows it while it works.
func TestWatch(t *testing.T) {
	turn := func(run string, step int, question, answer string) []event.Event {
		return []event.Event{
			happened(run, step, event.StartRun{InputMessages: []*event.Message{says(event.UserMessage, question)}}),
			happened(run, step, event.CompleteRun{NewMessage: says(event.ExpertMessage, answer)}),
		}
	}
	job := Job{ID: "r58pyt00", Prefix: "r58p", Expert: "lead", Steps: 1}
	project := &fakeProject{jobs: []Job{job}, events: turn("R", 1, "Plan a weekend", "Lisbon.")}
	d := drive(t, project, 80, 24)
	d.start(d.p.openJob(job))
	d.shows("Lisbon.")
	d.press("h", "i")
	d.pass(watchEvery)
	d.until("it has looked", func() bool { return d.p.chat.watching })
	if d.p.chat.work != nil {
		t.Error("a job that has nothing new is read again")
	}
	project.events = append(project.events, turn("S", 2, "And in May?", "Porto.")...)
	project.jobs = []Job{{ID: "other"}, {ID: job.ID, Expert: "lead", Steps: 2}}
	d.pass(watchEvery)
	d.shows("Porto.")
	d.shows("> hi")
	d.until("all is read", func() bool { return d.p.chat.work == nil && d.p.chat.watching })

	project.hold = true
	project.jobs[1].Running = true
	d.pass(watchEvery)
	d.shows("read-only")
	d.p.chat.leave()
}
