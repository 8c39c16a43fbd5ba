package tui

import (
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"
)

const (
	// watchEvery is how often a conversation looks whether another process has continued its job.
	watchEvery = 2 * time.Second
	// watchedJobs is how many jobs are looked at, the newest first. A job that was continued is among them.
	watchedJobs = 20
)

// A lookMsg says that it is time to look at the job of a conversation.
type lookMsg struct{ c *chat }

// A looked is how the job of a conversation is now. Its id is empty if that is not known.
type looked struct {
	c   *chat
	job Job
}

// watch looks at the job after a while, unless it does so already.
func (c *chat) watch() tea.Cmd {
	if c.watching || c.jobID == "" {
		return nil
	}
	c.watching = true
	return c.p.after(watchEvery, lookMsg{c})
}

func (c *chat) look() tea.Cmd {
	c.watching = false
	if c.p.chat != c || c.work != nil {
		return nil // ended watches again
	}
	id := c.jobID
	return caught(func() tea.Msg {
		jobs, err := c.p.opts.Project.Jobs(c.p.ctx, watchedJobs)
		i := slices.IndexFunc(jobs, func(j Job) bool { return j.ID == id })
		if err != nil || i < 0 {
			return looked{c: c}
		}
		return looked{c, jobs[i]}
	})
}

// takeLook reads the job again if another process has continued it.
func (c *chat) takeLook(j Job) tea.Cmd {
	if c.p.chat != c || c.work != nil {
		return nil
	}
	isNew := j.Running || j.Steps > max(c.transcript.totals.Steps, c.known)
	if j.ID != c.jobID || !isNew || c.branch != nil {
		return c.watch()
	}
	c.known = j.Steps
	c.transcript = newTranscript(c.p, c.expert)
	return c.read(j)
}
