// Package job describes a job as a plain value: which Experts run, on what input, with
// which model, within which limits and in which isolation.
//
// A [Spec] can be printed, compared, recorded in a journal, sent into a container and
// queued for a worker. It never holds a secret: it names variables, and the values are
// handed to a run beside it. The command line, the program in a container and every
// embedding program build a Spec and hand it to perstack.Run.
//
// [Resolve] is the only place that decides between a flag, perstack.toml, what a resumed
// job recorded, and a default. limits.go has one row for each limit. Start reading at
// [Spec].
package job

import (
	"errors"
	"fmt"
	"slices"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
)

// A Spec says what to run. Expert, Experts, Workspace and an input are required.
type Spec struct {
	JobID string `json:"jobId,omitzero"` // of a new job, or of the one to resume; empty for a new id
	RunID string `json:"runId,omitzero"` // of the coordinator's Run, if it starts one; empty for a new id

	Input Input `json:"input,omitzero"`

	Expert  string           `json:"expert"`  // key of the coordinator
	Experts []*expert.Expert `json:"experts"` // the coordinator and every Expert it can reach by delegation
	// Published are the Experts that came from a registry, and that the file or the user named. Those
	// that they delegate to are part of them.
	Published []Published `json:"published,omitempty"`
	// Project lists the keys of all Experts of the project. It is shown to clients.
	Project []string `json:"project,omitempty"`

	Settings

	// Models and Prices take precedence over what perstack knows of a model, by its name.
	Models map[string]expert.ModelEntry `json:"models,omitzero"`
	Prices map[string]expert.Price      `json:"prices,omitzero"`

	Workspace Workspace `json:"workspace"`

	// Lock is the text of perstack.lock, which pins the skills; empty if there is none.
	// Its path is for messages.
	Lock     string `json:"lock,omitzero"`
	LockPath string `json:"lockPath,omitzero"`

	// Programs are the files of the workspace that skills are started from, as they were when
	// the job began. A resumed job keeps them. Skills that the lockfile pins are not here.
	Programs []Program `json:"programs,omitempty"`

	Manifest string `json:"manifest,omitzero"` // path of perstack.toml, for messages
	Version  string `json:"version,omitzero"`  // of the perstack that made the Spec

	// Unsealed says that the records of the job are not sealed. perstack.Run sets it.
	Unsealed bool `json:"unsealed,omitzero"`

	// Sequential runs tool calls and delegates one after the other, so that two runs
	// write the same journal.
	Sequential bool `json:"sequential,omitzero"`
	// Verbose asks for debug log from everywhere the job runs.
	Verbose bool `json:"verbose,omitzero"`
}

// An Input says what the user wants from the job now.
type Input struct {
	// Query is a new task, for a new job or on top of a recorded conversation.
	Query string `json:"query,omitzero"`
	// Attachments are files that go with the query. Their bytes are handed to a run beside the Spec,
	// by their digests; see Parts.Attachments.
	Attachments []event.Attachment `json:"attachments,omitempty"`
	// Continue resumes the recorded job. Without a query and an answer, the Run that was
	// left unfinished is resumed.
	Continue bool `json:"continue,omitzero"`
	// Relax lets the Spec allow more than the recorded job, and name another workspace.
	// Without it, limits and isolation are the stricter of both.
	Relax bool `json:"relax,omitzero"`
	// TrustHistory continues a job although its journal is not sealed, or not by the keys at
	// hand: everything that it says about the conversation and its effects is believed.
	TrustHistory bool `json:"trustHistory,omitzero"`
	// From is the checkpoint to start from. Empty means the newest.
	From string `json:"from,omitzero"`
	// Note is told to the model once, as a note of the runtime.
	Note string `json:"note,omitzero"`
	// Answer is the user's answer to the pending question. Without a ToolCallID it
	// answers the first one.
	Answer *event.ToolAnswer `json:"answer,omitzero"`
}

// What can be attached to a query.
const (
	MaxAttachments     = 20
	MaxAttachmentBytes = 5 << 20 // each
	MaxAttachmentName  = 255     // bytes
)

// checkAttachments refuses more than a query can have. That the bytes are as described, perstack.Run
// checks.
func (in *Input) checkAttachments() error {
	if len(in.Attachments) == 0 {
		return nil
	}
	if in.Query == "" {
		return errors.New("job: Spec.Input.Attachments go with a query, and there is none")
	}
	if n := len(in.Attachments); n > MaxAttachments {
		return fmt.Errorf("job: Spec.Input has %d attachments; a query can have %d", n, MaxAttachments)
	}
	for _, a := range in.Attachments {
		switch {
		case a.Name == "" || len(a.Name) > MaxAttachmentName:
			return fmt.Errorf("job: an attachment in Spec.Input has no name, or one of more than %d bytes", MaxAttachmentName)
		case a.Size <= 0 || a.Size > MaxAttachmentBytes:
			return fmt.Errorf("job: the attachment %.200q in Spec.Input is empty, or larger than %d MiB", a.Name, MaxAttachmentBytes>>20)
		}
	}
	return nil
}

// A Published says what the key of a published Expert meant when the job began. A continued job keeps it.
type Published struct {
	Key      string `json:"key"` // as it was named
	Exact    string `json:"exact"`
	Digest   string `json:"digest"` // of the definition
	Registry string `json:"registry"`
}

// A Workspace is the directory that the file tools work in.
type Workspace struct {
	Dir string `json:"dir"`
	// Hidden are paths that no tool can reach, ReadOnly files that no tool can change.
	Hidden   []string `json:"hidden,omitempty"`
	ReadOnly []string `json:"readOnly,omitempty"`
}

// A Program is what a skill of an Expert is started from, as far as it lies in the workspace.
type Program struct {
	Expert string `json:"expert"` // key
	Skill  string `json:"skill"`
	Digest string `json:"digest"` // of how the skill is started; see [expert.Skill.Connection]
	Files  string `json:"files"`  // a line for each file, with its SHA-256
}

// ContainerWorkspace is where a container has the workspace.
const ContainerWorkspace = "/workspace"

// ToolDir is the workspace as tools see it.
func (s *Spec) ToolDir() string {
	if s.Runtime == Docker {
		return ContainerWorkspace
	}
	return s.Workspace.Dir
}

// Coordinator returns the Expert that the job starts with; nil if the Spec does not have it.
func (s *Spec) Coordinator() *expert.Expert {
	e, _ := s.Lookup(s.Expert)
	return e
}

// Lookup finds an Expert of the job by its key.
func (s *Spec) Lookup(key string) (*expert.Expert, bool) {
	return expert.Lookup(s.Experts, key)
}

// A PriceList returns what a provider's model costs, if that is known.
type PriceList func(provider, model string) (expert.Price, bool)

// Price returns what a model costs: as the Spec says, else as the list says.
func (s *Spec) Price(provider, model string, list PriceList) (expert.Price, bool) {
	if p, ok := s.Prices[model]; ok {
		return p, true
	}
	return list(provider, model)
}

// Unpriced returns the models of the job that have no price although the cost is limited. A
// limit that cannot be enforced would be worse than none.
func (s *Spec) Unpriced(list PriceList) (models []string) {
	if !s.LimitsCost() {
		return nil
	}
	for _, use := range s.ModelUses() {
		if _, known := s.Price(use.Provider, use.Model, list); !known {
			models = append(models, use.Model)
		}
	}
	return models
}

// LimitsCost reports whether the cost of the job, or of an Expert that it can reach, is
// limited.
func (s *Spec) LimitsCost() bool {
	first := s.Coordinator()
	if s.Limits.MaxCost > 0 || first == nil {
		return s.Limits.MaxCost > 0
	}
	reached, _ := expert.Closure(s.Experts, first)
	return slices.ContainsFunc(reached, func(e *expert.Expert) bool { return e.MaxCost > 0 })
}
