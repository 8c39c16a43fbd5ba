package event

import "github.com/perstack-go/perstack/rawjson"

// This file holds the events about the files of the workspace. They concern the whole job, not a
// single Run: Runs share the workspace.

// Reasons of a [WorkspaceSnapshot].
const (
	SnapshotBefore     = "before"     // the first call of a step that can change files is about to start
	SnapshotCheckpoint = "checkpoint" // such a step is over
	SnapshotEnd        = "end"        // the Run of the coordinator ends
	SnapshotResume     = "resume"     // the job resumes after a crash
	SnapshotSafety     = "safety"     // files are about to be restored
)

// WorkspaceSnapshot says that the state of the workspace was stored. It is recorded if that state
// differs from the one before: a checkpoint has the files of the last snapshot before it.
type WorkspaceSnapshot struct {
	Tree   string `json:"tree"` // id of the state
	Reason string `json:"reason"`
	// Outside says that no tool call ran since the snapshot before, so others changed what is
	// different.
	Outside bool `json:"outside,omitzero"`
	// Unsure says that it is not known who changed what is different: the process died meanwhile, or
	// there should have been a snapshot in between that could not be taken.
	Unsure bool     `json:"unsure,omitzero"`
	Busy   []string `json:"busy,omitempty"` // ids of the tool calls that ran meanwhile: their changes can be in this state or in a later one

	Skipped    []SkippedFile `json:"skipped,omitempty"` // the first of those that could not be stored
	SkippedAll int           `json:"skippedAll,omitzero"`
	Torn       []string      `json:"torn,omitempty"`      // files that changed while they were read
	Incomplete string        `json:"incomplete,omitzero"` // entries, depth or time: not everything was looked at
	HardLinks  int           `json:"hardLinks,omitzero"`  // files with several names, stored one by one
	GitOutside bool          `json:"gitOutside,omitzero"` // the repository lies outside of the workspace
	Extra
}

// A SkippedFile is a path that was left alone, and why.
type SkippedFile struct {
	Path    string                   `json:"path"`
	Why     string                   `json:"why"`
	Unknown map[string]rawjson.Value `json:",embed"`
}

// FilesRestoreStarted is recorded before files change. A restore without [FilesRestored] was
// interrupted, and is finished by the next command that uses the workspace.
type FilesRestoreStarted struct {
	Target string `json:"target"` // the state that the user wants back
	Safety string `json:"safety"` // the state before
	Goal   string `json:"goal"`   // the state afterwards: that of Target for what is restored, else that of Safety
	Extra
}

// FilesRestored says that the workspace has the state Goal of [FilesRestoreStarted], apart from what
// was skipped.
type FilesRestored struct {
	Changed int           `json:"changed"`
	Skipped []SkippedFile `json:"skipped,omitempty"`
	Extra
}

// Rewound says that the conversation goes back: the job is continued from Head.
type Rewound struct {
	Head string `json:"head"` // a checkpoint; empty for the time before the first
	Extra
}
