package event

import (
	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/rawjson"
)

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
	JobStoppedByApproval        JobStatus = "stoppedByApproval"
	JobInterrupted              JobStatus = "interrupted"
)

// A Job is one task of the user, summed up. It is the fold of its events: see [Job.Apply].
type Job struct {
	ID                   string                   `json:"id"`
	CoordinatorExpertKey string                   `json:"coordinatorExpertKey"`
	CoordinatorRunID     string                   `json:"coordinatorRunId,omitzero"` // the newest Run of the coordinator
	Status               JobStatus                `json:"status"`
	TotalSteps           int                      `json:"totalSteps"` // of all Runs together
	MaxSteps             int                      `json:"maxSteps,omitzero"`
	Usage                Usage                    `json:"usage"` // of all Runs together
	StartedAt            int64                    `json:"startedAt"`
	FinishedAt           int64                    `json:"finishedAt,omitzero"`
	UpdatedAt            int64                    `json:"updatedAt,omitzero"` // when the newest event happened
	Imported             *Import                  `json:"imported,omitzero"`  // another program recorded the job
	Unknown              map[string]rawjson.Value `json:",embed"`
}

// Apply returns j after e. The zero Job is a job of which nothing is known yet.
//
// Steps and usage are those of all Runs together. Status and FinishedAt follow the
// coordinator alone, in its newest Run: a delegate that fails, reaches a limit or is
// interrupted returns to its parent. What stops the whole job stops the coordinator too, in a
// record of its own.
func (j Job) Apply(e Event) Job {
	if j.ID == "" {
		j.ID, j.StartedAt, j.Status = e.JobID, e.Timestamp, JobRunning
	}
	j.UpdatedAt, j.Usage = e.Timestamp, j.Usage.Add(e.Usage())
	switch b := e.Body.(type) {
	case StartRun:
		j = j.start(e, b)
	case StartGeneration, ResumeToolCalls, FinishAllToolCalls:
		// Each of these opens a step. A transport retry does not.
		j.TotalSteps++
	}
	// If no start was seen, any Run can be the coordinator's.
	if status, ok := e.EndStatus(); ok && (j.CoordinatorRunID == "" || j.CoordinatorRunID == e.RunID) {
		j = j.end(status, e.Timestamp)
	}
	return j
}

func (j Job) start(e Event, b StartRun) Job {
	if n := specSteps(b.Spec); n > 0 {
		j.MaxSteps = n
	}
	if j.CoordinatorExpertKey == "" {
		j.CoordinatorExpertKey = e.ExpertKey
	}
	if j.Imported == nil {
		j.Imported = b.Imported
	}
	if b.parent() == nil {
		j.CoordinatorRunID = e.RunID
		j.Status, j.FinishedAt = JobRunning, 0
	}
	return j
}

// end sets how the coordinator ended. Waiting is not an end: a job that waits for delegates
// still runs, and one that waits for the user has stopped but is not finished.
func (j Job) end(status Status, at int64) Job {
	switch status {
	case StatusStoppedByDelegate:
		return j
	case StatusStoppedByExceededMaxSteps:
		j.Status = JobStoppedByMaxSteps
	default: // a job and its coordinator use the same words
		j.Status = JobStatus(status)
	}
	if status != StatusStoppedByInteractiveTool && status != StatusStoppedByApproval {
		j.FinishedAt = at
	}
	return j
}

// specSteps reads the limit on steps from a recorded Spec; 0 if there is none.
func specSteps(spec rawjson.Value) int {
	var s struct {
		Limits struct {
			MaxSteps int `json:"maxSteps"`
		} `json:"limits"`
	}
	if len(spec) == 0 || json.Unmarshal(spec, &s) != nil {
		return 0 // code that needs the whole Spec reports what is wrong with it
	}
	return s.Limits.MaxSteps
}
