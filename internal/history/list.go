package history

import (
	"context"
	"errors"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/file"
)

// A Source is the history of a project.
type Source struct {
	Project string // its path; "" where it goes without saying
	Store   store.Store
}

// An Entry is a job in a list.
type Entry struct {
	Info   store.JobInfo
	Source Source
	Prefix string // the shortest beginning of the id that names the job
	Err    error  // why the job cannot be read
}

// A Page is a part of a list.
type Page struct {
	Jobs  []Entry
	Total int // jobs that there are
}

// List returns the jobs of histories, newest first: the first take of them after offset, or all if
// take is 0. It reads few others, so the newest of many jobs are found quickly. The error is about
// a history that cannot be read at all.
func List(ctx context.Context, from []Source, offset, take int) (Page, error) {
	var page Page
	var ids []string
	for _, s := range from {
		found, err := JobIDs(ctx, s.Store)
		if err != nil {
			return page, err
		}
		ids = append(ids, found...)
	}
	skipped := 0
	for e := range merge(ctx, from) {
		if e.Err != nil && e.Info.ID == "" {
			return page, e.Err
		}
		if skipped < offset {
			skipped++
			continue
		}
		page.Jobs = append(page.Jobs, e)
		if len(page.Jobs) == take {
			break
		}
	}
	if page.Total = len(ids); take == 0 || len(page.Jobs) < take {
		page.Total = min(offset, skipped) + len(page.Jobs) // a job without records has an id
	}
	slices.Sort(ids)
	for i := range page.Jobs {
		page.Jobs[i].Prefix = shortest(page.Jobs[i].Info.ID, ids)
	}
	return page, nil
}

// merge yields the jobs of histories, newest first.
func merge(ctx context.Context, from []Source) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		type reader struct {
			entry Entry
			next  func() (store.JobInfo, error, bool)
		}
		var readers []*reader
		advance := func(r *reader) bool {
			info, err, ok := r.next()
			r.entry.Info, r.entry.Err = info, err
			return ok
		}
		var stops []func()
		defer func() {
			for _, stop := range stops {
				stop()
			}
		}()
		for _, s := range from {
			next, stop := iter.Pull2(s.Store.Jobs(ctx))
			stops = append(stops, stop)
			if r := (&reader{Entry{Source: s}, next}); advance(r) {
				readers = append(readers, r)
			}
		}
		for len(readers) > 0 {
			newest := 0
			for i, r := range readers {
				if r.entry.Info.StartedAt > readers[newest].entry.Info.StartedAt {
					newest = i
				}
			}
			r := readers[newest]
			if !yield(r.entry) {
				return
			}
			if !advance(r) {
				readers = slices.Delete(readers, newest, newest+1)
			}
		}
	}
}

// Jobs yields the jobs of histories, newest first, as [store.Store] does.
func Jobs(ctx context.Context, from []Source) iter.Seq2[store.JobInfo, error] {
	return func(yield func(store.JobInfo, error) bool) {
		for e := range merge(ctx, from) {
			if !yield(e.Info, e.Err) {
				return
			}
		}
	}
}

// shortest returns the shortest beginning of an id that [Match] finds it by. all is sorted.
func shortest(id string, all []string) string {
	n := minPrefix
	at, _ := slices.BinarySearch(all, id)
	for _, i := range []int{at - 1, at + 1} {
		if i < 0 || i >= len(all) || all[i] == id {
			continue
		}
		same := 0
		for same < min(len(id), len(all[i])) && id[same] == all[i][same] {
			same++
		}
		n = max(n, same+1)
	}
	return id[:min(n, len(id))]
}

// The statuses of jobs whose journals do not say more.
const (
	Unreadable event.JobStatus = "unreadable"
	// NotImported is a job of the original, which has no journal.
	NotImported event.JobStatus = "not imported"
)

// Status returns how the job is.
func (e Entry) Status() event.JobStatus {
	switch {
	case IsOriginal(e.Err):
		return NotImported
	case e.Err != nil:
		return Unreadable
	}
	return e.Info.CurrentStatus()
}

// IsOriginal reports whether an error is about a job that the original Perstack recorded, in files
// that have to be imported.
func IsOriginal(err error) bool {
	version, ok := errors.AsType[*store.VersionError](err)
	return ok && version.Original
}

// Running reports whether a process works on the job.
func (e Entry) Running() bool { return e.Status() == event.JobRunning }

// Cost returns what the job cost in US dollars, by the prices that it states and the list prices.
// It is false if a part of it has no price.
func (e Entry) Cost() (dollars float64, known bool) {
	var stated map[string]expert.Price
	if len(e.Info.Prices) > 0 && json.Unmarshal(e.Info.Prices, &stated) != nil {
		return 0, false
	}
	var counted event.Usage
	for _, m := range e.Info.Models {
		used := m.Usage.Add(m.Long)
		p, ok := stated[m.Model]
		if !ok {
			p, ok = model.PriceOf(m.Provider, m.Model)
		}
		if !ok && (used.InputTokens > 0 || used.OutputTokens > 0) {
			return 0, false
		}
		counted = counted.Add(used)
		// The sums are not those of single requests, so their size must not choose the price.
		short, long := p, p.For(math.MaxInt)
		short.Long = expert.LongPrice{}
		dollars += model.Cost(short, m.Usage) + model.Cost(long, m.Long)
	}
	if counted.InputTokens < e.Info.Usage.InputTokens || counted.OutputTokens < e.Info.Usage.OutputTokens {
		return 0, false
	}
	return dollars, true
}

// Query returns the beginning of the first query as one line.
func (e Entry) Query() string { return strings.Join(strings.Fields(e.Info.Query), " ") }

// CheckSeal says what is wrong with the seals of a job. Most are looked at in two places only; what
// seems wrong there is read as a whole. A job that still runs is not looked at: its seals change.
// The error is a [*store.SealError] or a [*store.DamageError]; nil if nothing is known, such as with
// a key that cannot be read.
func (e Entry) CheckSeal(ctx context.Context, sealer *store.Sealer) error {
	s, ok := e.Source.Store.(*file.Store)
	if !ok || sealer == nil || e.Err != nil || e.Running() {
		return nil
	}
	err := s.CheckSeals(ctx, e.Info.ID, sealer)
	if err != nil {
		_, err = store.VerifySeals(ctx, s, e.Info.ID, sealer)
	}
	if !errors.As(err, new(*store.SealError)) && !errors.As(err, new(*store.DamageError)) {
		return nil
	}
	return err
}

// SealNote is what a list says about what [Entry.CheckSeal] found; "" if there is nothing.
func SealNote(err error) string {
	fault, ok := errors.AsType[*store.SealError](err)
	switch {
	case err == nil:
		return ""
	case ok && fault.Fault == store.Unsealed:
		return " (not sealed)"
	}
	return " (seal wrong)"
}
