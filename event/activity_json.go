package event

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// activityHead is the members that all activities share.
type activityHead struct {
	Type               ActivityType    `json:"type"`
	ID                 string          `json:"id"`
	ExpertKey          string          `json:"expertKey"`
	RunID              string          `json:"runId"`
	PreviousActivityID string          `json:"previousActivityId,omitzero"`
	DelegatedBy        *ActivityParent `json:"delegatedBy,omitzero"`
	Reasoning          string          `json:"reasoning,omitzero"`
}

// activityTail is the members that follow those of a tool's own.
type activityTail struct {
	Error string `json:"error,omitzero"`
}

// MarshalJSONTo writes the members that a's type has, and no others.
func (a Activity) MarshalJSONTo(enc *jsontext.Encoder) error {
	body := a.shape()
	if body == nil {
		return fmt.Errorf("activity %q: unknown type %q", a.ID, a.Type)
	}
	return json.MarshalEncode(enc, body)
}

// shape returns a as its type looks in JSON, or nil for a type that is not known.
// As with [Part], the zero value of a field cannot tell "required and empty" from
// "absent", so each type lists its own members.
func (a *Activity) shape() any {
	type head = activityHead
	type tail = activityTail
	h := head{a.Type, a.ID, a.ExpertKey, a.RunID, a.PreviousActivityID, a.DelegatedBy, a.Reasoning}
	t := tail{a.Error}
	switch a.Type {
	case ActivityQuery, ActivityComplete, ActivityRemark:
		return struct {
			head `json:",embed"`
			Text string `json:"text"`
		}{h, a.Text}
	case ActivityRetry:
		return struct {
			head    `json:",embed"`
			Error   string `json:"error"`
			Message string `json:"message"`
		}{h, a.Error, a.Message}
	case ActivityError:
		return struct {
			head        `json:",embed"`
			Error       string `json:"error,omitzero"`
			ErrorName   string `json:"errorName,omitzero"`
			IsRetryable *bool  `json:"isRetryable,omitzero"`
		}{h, a.Error, a.ErrorName, a.IsRetryable}
	case ActivityStopped:
		return struct {
			head    `json:",embed"`
			Reason  string `json:"reason"`
			Message string `json:"message,omitzero"`
		}{h, a.Reason, a.Message}
	case ActivityAnswer:
		return struct {
			head      `json:",embed"`
			SkillName string `json:"skillName"`
			ToolName  string `json:"toolName"`
			Text      string `json:"text"`
		}{h, a.SkillName, a.ToolName, a.Text}
	case ActivityDelegate:
		return struct {
			head              `json:",embed"`
			DelegateExpertKey string `json:"delegateExpertKey"`
			Query             string `json:"query"`
		}{h, a.DelegateExpertKey, a.Query}
	case ActivityDelegationComplete:
		return struct {
			head  `json:",embed"`
			Count int `json:"count"`
		}{h, a.Count}
	case ActivityInteractiveTool:
		return struct {
			head      `json:",embed"`
			SkillName string         `json:"skillName"`
			ToolName  string         `json:"toolName"`
			Args      jsontext.Value `json:"args"`
		}{h, a.SkillName, a.ToolName, orEmptyObject(a.Args)}
	case ActivityProviderTool:
		return struct {
			head     `json:",embed"`
			ToolName string         `json:"toolName"`
			Args     jsontext.Value `json:"args"`
		}{h, a.ToolName, orEmptyObject(a.Args)}
	case ActivityGeneralTool:
		return struct {
			head      `json:",embed"`
			SkillName string         `json:"skillName"`
			ToolName  string         `json:"toolName"`
			Args      jsontext.Value `json:"args"`
			Result    []Part         `json:"result,omitzero"`
			tail      `json:",embed"`
		}{h, a.SkillName, a.ToolName, orEmptyObject(a.Args), a.Result, t}
	}
	return a.baseShape(h, t)
}

// baseShape is [Activity.shape] for the tools of the base skill.
func (a *Activity) baseShape(h activityHead, t activityTail) any {
	type head = activityHead
	type tail = activityTail
	switch a.Type {
	case ActivityAttemptCompletion:
		return struct {
			head           `json:",embed"`
			RemainingTodos []TodoItem `json:"remainingTodos,omitzero"`
			tail           `json:",embed"`
		}{h, a.RemainingTodos, t}
	case ActivityTodo:
		return struct {
			head           `json:",embed"`
			NewTodos       []string   `json:"newTodos,omitzero"`
			CompletedTodos []int64    `json:"completedTodos,omitzero"`
			Todos          []TodoItem `json:"todos"`
			tail           `json:",embed"`
		}{h, a.NewTodos, a.CompletedTodos, a.Todos, t}
	case ActivityClearTodo:
		return struct {
			head `json:",embed"`
			tail `json:",embed"`
		}{h, t}
	case ActivityReadTextFile:
		return struct {
			head    `json:",embed"`
			Path    string  `json:"path"`
			Content *string `json:"content,omitzero"`
			From    *int64  `json:"from,omitzero"`
			To      *int64  `json:"to,omitzero"`
			tail    `json:",embed"`
		}{h, a.Path, a.Content, a.From, a.To, t}
	case ActivityReadImageFile, ActivityReadPDFFile:
		return struct {
			head     `json:",embed"`
			Path     string  `json:"path"`
			MIMEType *string `json:"mimeType,omitzero"`
			Size     *int64  `json:"size,omitzero"`
			tail     `json:",embed"`
		}{h, a.Path, a.MIMEType, a.Size, t}
	case ActivityWriteTextFile, ActivityAppendTextFile:
		return struct {
			head `json:",embed"`
			Path string `json:"path"`
			Text string `json:"text"`
			tail `json:",embed"`
		}{h, a.Path, a.Text, t}
	case ActivityEditTextFile:
		return struct {
			head    `json:",embed"`
			Path    string `json:"path"`
			NewText string `json:"newText"`
			OldText string `json:"oldText"`
			tail    `json:",embed"`
		}{h, a.Path, a.NewText, a.OldText, t}
	case ActivityDeleteFile, ActivityCreateDirectory:
		return struct {
			head `json:",embed"`
			Path string `json:"path"`
			tail `json:",embed"`
		}{h, a.Path, t}
	case ActivityDeleteDirectory:
		return struct {
			head      `json:",embed"`
			Path      string `json:"path"`
			Recursive *bool  `json:"recursive,omitzero"`
			tail      `json:",embed"`
		}{h, a.Path, a.Recursive, t}
	case ActivityMoveFile:
		return struct {
			head        `json:",embed"`
			Source      string `json:"source"`
			Destination string `json:"destination"`
			tail        `json:",embed"`
		}{h, a.Source, a.Destination, t}
	case ActivityGetFileInfo:
		return struct {
			head `json:",embed"`
			Path string    `json:"path"`
			Info *FileInfo `json:"info,omitzero"`
			tail `json:",embed"`
		}{h, a.Path, a.Info, t}
	case ActivityListDirectory:
		return struct {
			head  `json:",embed"`
			Path  string          `json:"path"`
			Items []DirectoryItem `json:"items,omitzero"`
			tail  `json:",embed"`
		}{h, a.Path, a.Items, t}
	case ActivityExec:
		return struct {
			head    `json:",embed"`
			Command string   `json:"command"`
			Args    []string `json:"args"`
			CWD     string   `json:"cwd"`
			Output  *string  `json:"output,omitzero"`
			Stdout  *string  `json:"stdout,omitzero"`
			Stderr  *string  `json:"stderr,omitzero"`
			tail    `json:",embed"`
		}{h, a.Command, a.CommandArgs, a.CWD, a.Output, a.Stdout, a.Stderr, t}
	}
	return nil
}
