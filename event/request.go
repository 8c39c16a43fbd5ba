package event

// A Request is something that a job asks its user while it runs.
type Request struct {
	JobID     string
	RunID     string
	ExpertKey string
	// Question is the interactive tool call that waits for an answer.
	Question ToolCall
}

// An Answer is what the user says to a [Request].
type Answer struct {
	Text string
}
