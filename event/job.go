package event

import (
	"maps"
	"slices"

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
	Query                string                   `json:"query,omitzero"`     // the beginning of the first one
	Models               []ModelUse               `json:"models,omitempty"`   // in the order of their first Runs
	Prices               rawjson.Value            `json:"prices,omitzero"`    // those of the newest Spec, if it states any
	Open                 map[string]int           `json:"open,omitempty"`     // Runs that have not ended and have another model than the first; see [Job.open]
	Unknown              map[string]rawjson.Value `json:",embed"`
}

// A ModelUse is what a job used of one model.
type ModelUse struct {
	Provider string                   `json:"provider"`
	Model    string                   `json:"model"`
	Usage    Usage                    `json:"usage"`         // of requests that are not long
	Long     Usage                    `json:"long,omitzero"` // of requests that read more than [LongRequest] tokens
	Unknown  map[string]rawjson.Value `json:",embed"`
}

// LongRequest is how many tokens a request reads before providers ask more for it. It is the same
// for all models that have such a price.
const LongRequest = 200_000

// A journal can be forged, so what a [Job] collects is bounded. What is left out of Models has no
// known cost.
const (
	maxModels = 64
	maxOpen   = 1024
)

// unknownModel is the index of a model that is not in Models. In [Job.Open], the name of no Run stands for
// all that did not fit.
const (
	unknownModel = -1
	noRun        = ""
)

// maxQuery is how many characters of a query a [Job] has. Lists show fewer.
const maxQuery = 200

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
	j.UpdatedAt = e.Timestamp
	j = j.use(e.RunID, e.Usage())
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
	if e.IsTerminal() {
		j = j.close(e.RunID)
	}
	return j
}

// use adds what a Run used.
func (j Job) use(runID string, u Usage) Job {
	j.Usage = j.Usage.Add(u)
	i, other := j.Open[runID]
	if !other {
		i = j.Open[noRun]
	}
	if i < 0 || i >= len(j.Models) || u.InputTokens == 0 && u.OutputTokens == 0 {
		return j // an index can be wrong: it comes from a file
	}
	j.Models = slices.Clone(j.Models)
	if m := &j.Models[i]; u.InputTokens > LongRequest {
		m.Long = m.Long.Add(u)
	} else {
		m.Usage = m.Usage.Add(u)
	}
	return j
}

// open notes which model a Run has. A resumed Run can have another one than before. Most Runs have the
// first model of their job and are not noted: a copy of the map for each of a thousand delegates would
// cost more than what they do.
func (j Job) open(runID string, b StartRun) Job {
	i := slices.IndexFunc(j.Models, func(m ModelUse) bool { return m.Provider == b.Provider && m.Model == b.Model })
	switch {
	case b.Model == "":
		i = unknownModel
	case i < 0 && len(j.Models) < maxModels:
		i = len(j.Models)
		j.Models = append(slices.Clip(j.Models), ModelUse{Provider: b.Provider, Model: b.Model})
	}
	if i == 0 {
		return j.close(runID)
	}
	if len(j.Open) >= maxOpen-1 {
		runID, i = noRun, unknownModel
	}
	if before, ok := j.Open[runID]; ok && before == i {
		return j
	}
	if j.Open = maps.Clone(j.Open); j.Open == nil {
		j.Open = make(map[string]int)
	}
	j.Open[runID] = i
	return j
}

// close removes what [Job.open] noted about a Run.
func (j Job) close(runID string) Job {
	if _, noted := j.Open[runID]; !noted || runID == noRun {
		return j
	}
	j.Open = maps.Clone(j.Open)
	if delete(j.Open, runID); len(j.Open) == 0 {
		j.Open = nil // as it is read from a file
	}
	return j
}

func (j Job) start(e Event, b StartRun) Job {
	j = j.open(e.RunID, b)
	if steps, prices, ok := readSpec(b.Spec); ok {
		if steps > 0 {
			j.MaxSteps = steps
		}
		j.Prices = prices
	}
	if j.Query == "" && b.parent() == nil {
		j.Query = firstQuery(b.InputMessages)
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

// readSpec reads the limit on steps and the prices from a recorded Spec; ok is false if there is
// none.
func readSpec(spec rawjson.Value) (steps int, prices rawjson.Value, ok bool) {
	var s struct {
		Limits struct {
			MaxSteps int `json:"maxSteps"`
		} `json:"limits"`
		Prices rawjson.Value `json:"prices"`
	}
	if len(spec) == 0 || json.Unmarshal(spec, &s) != nil {
		return 0, nil, false // code that needs the whole Spec reports what is wrong with it
	}
	return s.Limits.MaxSteps, s.Prices, true
}

// firstQuery returns the beginning of what the user wrote.
func firstQuery(messages []*Message) string {
	for _, m := range messages {
		if m == nil || m.Type != UserMessage {
			continue
		}
		text, n := FirstText(m.Contents), 0
		for i := range text {
			if n++; n > maxQuery {
				return text[:i]
			}
		}
		return text
	}
	return ""
}
