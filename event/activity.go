package event

import "github.com/go-json-experiment/json/jsontext"

// ActivityType names the shape of an [Activity].
type ActivityType string

// The activity types. The comment names the fields that each one uses beside those
// that all have. Types from ActivityAttemptCompletion to ActivityExec carry the name
// of a tool of [BaseSkill] and have Error when the tool failed.
const (
	ActivityQuery    ActivityType = "query"    // Text
	ActivityRetry    ActivityType = "retry"    // Error, Message
	ActivityComplete ActivityType = "complete" // Text
	ActivityError    ActivityType = "error"    // Error, ErrorName, IsRetryable
	ActivityStopped  ActivityType = "stopped"  // Reason, Message
	ActivityRemark   ActivityType = "remark"   // Text
	ActivityAnswer   ActivityType = "answer"   // SkillName, ToolName, Text

	ActivityAttemptCompletion ActivityType = "attemptCompletion" // RemainingTodos
	ActivityTodo              ActivityType = "todo"              // NewTodos, CompletedTodos, Todos
	ActivityClearTodo         ActivityType = "clearTodo"
	ActivityReadTextFile      ActivityType = "readTextFile"    // Path, Content, From, To
	ActivityReadImageFile     ActivityType = "readImageFile"   // Path, MIMEType, Size
	ActivityReadPDFFile       ActivityType = "readPdfFile"     // Path, MIMEType, Size
	ActivityWriteTextFile     ActivityType = "writeTextFile"   // Path, Text
	ActivityAppendTextFile    ActivityType = "appendTextFile"  // Path, Text
	ActivityEditTextFile      ActivityType = "editTextFile"    // Path, NewText, OldText
	ActivityDeleteFile        ActivityType = "deleteFile"      // Path
	ActivityCreateDirectory   ActivityType = "createDirectory" // Path
	ActivityDeleteDirectory   ActivityType = "deleteDirectory" // Path, Recursive
	ActivityMoveFile          ActivityType = "moveFile"        // Source, Destination
	ActivityGetFileInfo       ActivityType = "getFileInfo"     // Path, Info
	ActivityListDirectory     ActivityType = "listDirectory"   // Path, Items
	ActivityExec              ActivityType = "exec"            // Command, CommandArgs, CWD, Output, Stdout, Stderr

	ActivityDelegate           ActivityType = "delegate"           // DelegateExpertKey, Query
	ActivityDelegationComplete ActivityType = "delegationComplete" // Count
	ActivityInteractiveTool    ActivityType = "interactiveTool"    // SkillName, ToolName, Args
	ActivityGeneralTool        ActivityType = "generalTool"        // SkillName, ToolName, Args, Result, Error
	ActivityProviderTool       ActivityType = "providerTool"       // ToolName, Args: the call as the provider wrote it
)

// Four types are ours and unknown to earlier releases: [ActivityRemark] is what the
// model said together with its calls, [ActivityAnswer] what the user answered to an
// interactive tool, [ActivityProviderTool] what the provider ran itself, and
// [ActivityStopped] the end of a Run that reached a limit or was interrupted: it did not
// fail, and a person should see the difference.

// Reasons of an [ActivityStopped].
const (
	StoppedByMaxSteps  = "maxSteps"
	StoppedByLimit     = "limit"     // Message names the limit
	StoppedByInterrupt = "interrupt" // Message says by what
)

// An Activity is what a person sees of a Run: a file was read, a question was asked.
// Activities are derived, by a [Timeline] from events or by [FromCheckpoint] from a
// stored step, and never read back. Type says which fields mean something. A pointer
// or slice is nil where the tool did not say; other fields are then empty.
type Activity struct {
	Type               ActivityType
	ID                 string // unique within its Run
	ExpertKey          string
	RunID              string
	PreviousActivityID string // of the same Run
	DelegatedBy        *ActivityParent
	Reasoning          string // what the model thought before

	Text      string
	Error     string // for a person: the message, not the class
	Message   string
	ErrorName string
	Reason    string

	IsRetryable *bool

	NewTodos       []string
	CompletedTodos []int64
	Todos          []TodoItem
	RemainingTodos []TodoItem

	Path        string
	Content     *string
	From, To    *int64
	MIMEType    *string
	Size        *int64
	NewText     string
	OldText     string
	Recursive   *bool
	Source      string
	Destination string
	Info        *FileInfo
	Items       []DirectoryItem

	Command     string
	CommandArgs []string // "args" in JSON
	CWD         string
	Output      *string
	Stdout      *string
	Stderr      *string

	DelegateExpertKey string
	Query             string
	Count             int

	SkillName string
	ToolName  string
	Args      jsontext.Value
	Result    []Part
}

// An ActivityParent names the Run that delegated to the Run of an [Activity].
type ActivityParent struct {
	ExpertKey string `json:"expertKey"`
	RunID     string `json:"runId"`
}

// A TodoItem is an entry of an Expert's todo list.
type TodoItem struct {
	ID        int64  `json:"id"`
	Title     string `json:"title"`
	Completed bool   `json:"completed"`
}

// FileInfo is what getFileInfo says about a file or directory. Extension and
// MIMEType are nil, and null in JSON, for a directory.
type FileInfo struct {
	Exists        bool    `json:"exists"`
	Name          string  `json:"name"`
	Directory     string  `json:"directory"`
	Extension     *string `json:"extension"`
	Type          string  `json:"type"` // file, directory
	MIMEType      *string `json:"mimeType"`
	Size          int64   `json:"size"`
	SizeFormatted string  `json:"sizeFormatted"`
	Created       string  `json:"created"`
	Modified      string  `json:"modified"`
	Accessed      string  `json:"accessed"`
}

// A DirectoryItem is an entry of a listed directory.
type DirectoryItem struct {
	Name     string `json:"name"`
	Path     string `json:"path"`
	Type     string `json:"type"` // file, directory
	Size     int64  `json:"size"`
	Modified string `json:"modified"`
}

// An ActivityGroup is the activities of one Run, in their order.
type ActivityGroup struct {
	RunID       string
	ExpertKey   string
	DelegatedBy *ActivityParent
	Activities  []Activity
}

// GroupActivities sorts activities by Run, Runs in the order in which they first appear.
func GroupActivities(activities []Activity) []ActivityGroup {
	var groups []ActivityGroup
	at := make(map[string]int)
	for _, a := range activities {
		i, ok := at[a.RunID]
		if !ok {
			i = len(groups)
			at[a.RunID] = i
			groups = append(groups, ActivityGroup{RunID: a.RunID, ExpertKey: a.ExpertKey, DelegatedBy: a.DelegatedBy})
		}
		groups[i].Activities = append(groups[i].Activities, a)
	}
	return groups
}
