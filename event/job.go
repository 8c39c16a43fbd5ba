package event

import "github.com/go-json-experiment/json/jsontext"

// JobStatus says how a job is.
type JobStatus string

// The statuses of a [Job]. JobInterrupted is never recorded: it is what a reader
// calls a job that is recorded as running while its process is gone.
const (
	JobRunning                  JobStatus = "running"
	JobCompleted                JobStatus = "completed"
	JobStoppedByMaxSteps        JobStatus = "stoppedByMaxSteps"
	JobStoppedByInteractiveTool JobStatus = "stoppedByInteractiveTool"
	JobStoppedByError           JobStatus = "stoppedByError"
	JobStoppedByLimit           JobStatus = "stoppedByLimit"
	JobStoppedByInterrupt       JobStatus = "stoppedByInterrupt"
	JobInterrupted              JobStatus = "interrupted"
)

// A Job is one task of the user, summed up. It is the fold of its events: see [Job.Apply].
type Job struct {
	ID                   string         `json:"id"`
	CoordinatorExpertKey string         `json:"coordinatorExpertKey"`
	CoordinatorRunID     string         `json:"coordinatorRunId,omitzero"` // the newest Run of the coordinator
	Status               JobStatus      `json:"status"`
	TotalSteps           int            `json:"totalSteps"` // of all Runs together
	MaxSteps             int            `json:"maxSteps,omitzero"`
	Usage                Usage          `json:"usage"` // of all Runs together
	StartedAt            int64          `json:"startedAt"`
	FinishedAt           int64          `json:"finishedAt,omitzero"`
	UpdatedAt            int64          `json:"updatedAt,omitzero"` // when the newest event happened
	Unknown              jsontext.Value `json:",embed"`
}

// Apply returns j after e. The zero Job is a job of which nothing is known yet.
func (j Job) Apply(e Event) Job {
	if j.ID == "" {
		j.ID, j.StartedAt, j.Status = e.JobID, e.Timestamp, JobRunning
	}
	j.UpdatedAt = e.Timestamp
	switch b := e.Body.(type) {
	case StartRun:
		if b.MaxSteps > 0 {
			j.MaxSteps = b.MaxSteps
		}
		if j.CoordinatorExpertKey == "" {
			j.CoordinatorExpertKey = e.ExpertKey
		}
		if b.parent() == nil {
			j.CoordinatorRunID = e.RunID
		}
		j.Status, j.FinishedAt = JobRunning, 0
	case StartGeneration, ResumeToolCalls, FinishAllToolCalls:
		// Each of these opens a step. A transport retry does not.
		j.TotalSteps++
	case CallTools:
		j.Usage = j.Usage.Add(b.Usage)
	case Retry:
		j.Usage = j.Usage.Add(b.Usage)
	case CompleteRun:
		j.Usage = j.Usage.Add(b.Usage)
		if j.ownedBy(e.RunID) {
			j.Status, j.FinishedAt = JobCompleted, e.Timestamp
		}
	case StopRunByError:
		j.Usage = j.Usage.Add(b.Usage)
		if j.ownedBy(e.RunID) {
			j.Status, j.FinishedAt = JobStoppedByError, e.Timestamp
		}
	// Limits and interrupts concern the job, whichever Run they meet.
	case StopRunByExceededMaxSteps:
		j.Status, j.FinishedAt = JobStoppedByMaxSteps, e.Timestamp
	case StopRunByLimit:
		j.Status, j.FinishedAt = JobStoppedByLimit, e.Timestamp
	case StopRunByInterrupt:
		j.Status, j.FinishedAt = JobStoppedByInterrupt, e.Timestamp
	case StopRunByInteractiveTool:
		j.Status = JobStoppedByInteractiveTool
	}
	return j
}

// ownedBy reports whether the end of that Run is the end of the job. The end of a
// delegate is none, be it good or bad: its parent gets to know and goes on.
func (j Job) ownedBy(runID string) bool {
	return j.CoordinatorRunID == "" || j.CoordinatorRunID == runID
}
