package store

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/perstack-go/perstack/event"
)

// A Report is what [Verify] found in a journal.
type Report struct {
	Records  int64 // valid ones, from the first on
	Unknown  int64 // of these, the ones of an unknown event type
	Last     Head  // the last valid record
	Recorded Head  // the last committed record according to a [HeadKeeper]; zero if unknown

	Sealed  int64  // records with a valid seal
	Project string // that recorded the job, if it is sealed
	Trusted int64  // the last record before which the user chose to believe everything; 0 if there is none
}

// A HeadKeeper is a [Store] that keeps the last committed record's address outside the journal.
// Without it, a journal that was cut between two records looks complete.
type HeadKeeper interface {
	// RecordedHead returns the zero value if it has none.
	RecordedHead(ctx context.Context, jobID string) (Recorded, error)
}

// Verify reads the journal of a job and checks every record, the chain that links
// them, and the recorded head. Damage is returned as a [*DamageError] that names the
// first bad record; the report covers the records before it.
func Verify(ctx context.Context, s Store, jobID string) (Report, error) {
	return VerifySeals(ctx, s, jobID, nil)
}

// VerifySeals is [Verify], and checks all seals as well. If nothing is damaged, it returns the
// first bad seal as a [*SealError]. The project of the sealer does not matter: the report names
// the one that sealed the job.
func VerifySeals(ctx context.Context, s Store, jobID string, sealer *Sealer) (Report, error) {
	var report Report
	var recorded Recorded
	var wrong error // the first bad seal
	keeper, keeps := s.(HeadKeeper)
	if keeps {
		// The head is read first: a writer can be active, and the journal only grows.
		var err error
		if recorded, err = keeper.RecordedHead(ctx, jobID); err != nil {
			return report, err
		}
		report.Recorded = recorded.Head
	}
	before := report // without the last record
	chain := Chain{JobID: jobID}
	var bad, next []byte // the line that does not follow, and its successor
	var damage error
	for r, err := range s.Read(ctx, jobID, 0) {
		if damage != nil {
			next = r.Line
			break
		}
		unknown := errors.Is(err, event.ErrUnknownType)
		if err != nil && !unknown {
			return settle(report, before, err)
		}
		// Back ends check the chain too. Checking it here makes this right for all of them.
		if damage = chain.Accept(r); damage != nil {
			bad = r.Line
			continue
		}
		if err := chain.CheckHead(report.Recorded); err != nil {
			return report, err
		}
		before = report
		report.Records, report.Last, report.Project = r.Seq, chain.Head, chain.Project
		if sealer != nil {
			if err := sealer.check(chain.seal, recordSeal, chain.Project, jobID, chain.sealed); err == nil {
				report.Sealed++
			} else if wrong == nil {
				wrong = err
			}
		}
		if unknown {
			report.Unknown++
		}
		if start, ok := r.Event.Body.(event.StartRun); ok && start.TrustedHistory {
			report.Trusted = r.Seq
		}
	}
	if damage == nil {
		if err := chain.CheckEnd(report.Recorded); err != nil {
			return report, err
		}
		if sealer != nil && wrong == nil && keeps && report.Records > 0 {
			wrong = sealer.check(recorded.Seal, headSeal, chain.Project, jobID, recorded.Head)
		}
		return report, wrong
	}
	if link := chain.BrokenLink(bad, next, report.Recorded); link != nil {
		damage = link
	}
	return settle(report, before, damage)
}

// settle leaves the last record out of the report if the damage turned out to be there.
func settle(report, before Report, err error) (Report, error) {
	if damage, ok := errors.AsType[*DamageError](err); ok && damage.Seq <= report.Records {
		return before, err
	}
	return report, err
}

// CheckHead compares the last record of the chain with the recorded head.
func (c *Chain) CheckHead(recorded Head) error {
	if c.Head.Seq != recorded.Seq || c.Head.Digest == recorded.Digest {
		return nil
	}
	return &DamageError{JobID: c.JobID, Seq: recorded.Seq,
		Reason: "it is not the record that was written; restore the journal from a backup"}
}

// CheckEnd is called after the last record. It reports a journal that is shorter than the
// recorded head.
func (c *Chain) CheckEnd(recorded Head) error {
	if c.Head.Seq >= recorded.Seq {
		return nil
	}
	return c.Damage("the journal was cut back: it ends at record %d, but %d were recorded; restore the journal from a backup", c.Head.Seq, recorded.Seq)
}

// A Follower is a [Store] whose journals can be read while they grow.
type Follower interface {
	// Follow is Read, from the first record on, of a job that is running. After the last
	// record it calls wait, and yields what was added meanwhile. It ends when no process
	// writes the job, or with the error of wait.
	Follow(ctx context.Context, jobID string, wait func() error) iter.Seq2[Record, error]
}

// A JobFinder is a [Store] that finds one job without listing all.
type JobFinder interface {
	FindJob(ctx context.Context, jobID string) (JobInfo, error)
}

// FindJob returns the summary of one job. An unknown job gives [ErrNotFound].
func FindJob(ctx context.Context, s Store, jobID string) (JobInfo, error) {
	if err := CheckID(jobID); err != nil {
		return JobInfo{}, err
	}
	if finder, ok := s.(JobFinder); ok {
		return finder.FindJob(ctx, jobID)
	}
	for info, err := range s.Jobs(ctx) {
		if info.ID == jobID {
			return info, err
		}
		if err := ctx.Err(); err != nil {
			return JobInfo{}, fmt.Errorf("look for job %s: %w", jobID, err)
		}
	}
	return JobInfo{}, NotFound(jobID)
}
