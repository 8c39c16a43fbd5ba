package sandbox

import (
	"context"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/sandbox/disk"
	"github.com/perstack-go/perstack/internal/sandbox/policy"
	"github.com/perstack-go/perstack/internal/wording"
)

// An Excess says that sandboxed programs were killed for using too much.
type Excess struct {
	Limit     string // [event.LimitMemory] or [event.LimitDisk]
	Text      string // as in [Outcome.Exceeded]
	Used, Max int64  // of the disk: bytes or files; 0 if that is unknown
}

// LimitDisk limits what all programs in sandboxes add to the disk together. When it is too much,
// all of them are killed. It is called before the first program starts.
//
// With directories it also limits programs without a sandbox, which can write to these: those of a
// container whose skills share one sandbox.
func (s *Supervisor) LimitDisk(l disk.Limits, open ...string) {
	s.openDirs = open
	s.disk = &disk.Watch{Limits: l, Processes: s.processes, Exceeded: func(e disk.Excess) {
		s.tell(Excess{event.LimitDisk, e.Text, e.Used, e.Max}) // before a program can have ended
		s.killAll(e.Text)
	}}
}

// OnExcess sets a function that is told when programs are killed for using too much memory or
// disk. It is called before the first program starts. The function must not wait for a program.
func (s *Supervisor) OnExcess(told func(Excess)) { s.onExcess = told }

func (s *Supervisor) tell(e Excess) {
	if s.onExcess != nil {
		s.onExcess(e)
	}
}

// DiskWatch is the watch that LimitDisk made; nil without one.
func (s *Supervisor) DiskWatch() *disk.Watch { return s.disk }

// WithUnlinked adds to a measurement of a directory the files without a name on the same file
// system that programs keep open. What a program hides is not seen.
func (s *Supervisor) WithUnlinked(dir string, measure func(context.Context, int64) (int64, error)) func(context.Context, int64) (int64, error) {
	return func(ctx context.Context, most int64) (int64, error) {
		used, err := measure(ctx, most)
		if err != nil || most > 0 && used > most {
			return used, err
		}
		return used + disk.Unlinked(s.processes()).On(dir), nil
	}
}

// watchDisk watches the disk until the program has ended. The function is called if it does not
// start.
func (s *Supervisor) watchDisk(p *policy.Policy) (until func(ended <-chan struct{})) {
	if s.disk == nil || !p.Restricts() && len(s.openDirs) == 0 {
		return func(<-chan struct{}) {}
	}
	dirs := s.openDirs
	if p.Restricts() {
		dirs = writable(p)
	}
	end := s.disk.Begin(dirs)
	return func(ended <-chan struct{}) {
		if ended == nil {
			end()
			return
		}
		go func() {
			<-ended
			end()
		}()
	}
}

// writable lists the directories of the machine that a program can write to.
func writable(p *policy.Policy) (dirs []string) {
	if p.Workspace.CanWrite() {
		dirs = append(dirs, p.Workspace.Path)
	}
	for _, path := range p.Write {
		if !strings.HasPrefix(path, "/dev/") {
			dirs = append(dirs, path)
		}
	}
	for _, c := range p.Caches {
		dirs = append(dirs, c.Upper, c.Work)
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// noteLimit tells of a program that ended by a limit which the supervisor process enforces.
func (s *Supervisor) noteLimit(text string) {
	switch {
	case strings.HasSuffix(text, ofMemory):
		s.tell(Excess{Limit: event.LimitMemory, Text: text})
	case strings.HasSuffix(text, inOneFile):
		s.tell(Excess{Limit: event.LimitDisk, Text: text})
	}
}

// The ends of texts by which noteLimit knows what they are about.
const (
	ofMemory  = " of memory"
	inOneFile = " in one file"
)

// tooLargeFile says which limit of the kernel a program has exceeded.
func tooLargeFile(limit int64) string { return "more than " + wording.Bytes(limit) + inOneFile }
