package event

import (
	"maps"
	"reflect"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// kinds is the table of event types: the name of each in JSON, its audience, and the status
// in which it leaves its Run, if it ends one. To add a type, declare its body with an embedded
// [Extra] and add a line here.
var kinds = []*kind{
	kindOf[StartRun]("startRun", stateAudience, noEnd),
	kindOf[StartGeneration]("startGeneration", stateAudience, noEnd),
	kindOf[ResumeToolCalls]("resumeToolCalls", stateAudience, noEnd),
	kindOf[FinishAllToolCalls]("finishAllToolCalls", stateAudience, noEnd),
	kindOf[CallTools]("callTools", stateAudience, noEnd),
	kindOf[CallDelegate]("callDelegate", stateAudience, noEnd),
	kindOf[CallInteractiveTool]("callInteractiveTool", stateAudience, noEnd),
	kindOf[ResolveToolResults]("resolveToolResults", stateAudience, noEnd),
	kindOf[AttemptCompletion]("attemptCompletion", stateAudience, noEnd),
	kindOf[FinishToolCall]("finishToolCall", stateAudience, noEnd),
	kindOf[Retry]("retry", stateAudience, noEnd),
	kindOf[ContinueToNextStep]("continueToNextStep", stateAudience, noEnd),
	kindOf[CompleteRun]("completeRun", stateAudience, StatusCompleted),
	kindOf[StopRunByInteractiveTool]("stopRunByInteractiveTool", stateAudience, StatusStoppedByInteractiveTool),
	kindOf[StopRunByDelegate]("stopRunByDelegate", stateAudience, StatusStoppedByDelegate),
	kindOf[StopRunByExceededMaxSteps]("stopRunByExceededMaxSteps", stateAudience, StatusStoppedByExceededMaxSteps),
	kindOf[StopRunByError]("stopRunByError", stateAudience, StatusStoppedByError),
	kindOf[StopRunByLimit]("stopRunByLimit", stateAudience, StatusStoppedByLimit),
	kindOf[StopRunByInterrupt]("stopRunByInterrupt", stateAudience, StatusStoppedByInterrupt),
	kindOf[StopRunByApproval]("stopRunByApproval", stateAudience, StatusStoppedByApproval),
	kindOf[LimitWarning]("limitWarning", stateAudience, noEnd),
	kindOf[DefinitionChanged]("definitionChanged", stateAudience, noEnd),
	kindOf[RuntimeNote]("runtimeNote", stateAudience, noEnd),
	kindOf[ApprovalRequested]("approvalRequested", stateAudience, noEnd),
	kindOf[ApprovalAnswered]("approvalAnswered", stateAudience, noEnd),
	kindOf[PlanAccepted]("planAccepted", stateAudience, noEnd),
	kindOf[StartToolCall]("startToolCall", recordAudience, noEnd),
	kindOf[EndToolCall]("endToolCall", recordAudience, noEnd),
	kindOf[StartStreamingReasoning]("startStreamingReasoning", streamAudience, noEnd),
	kindOf[StreamReasoning]("streamReasoning", streamAudience, noEnd),
	kindOf[CompleteStreamingReasoning]("completeStreamingReasoning", streamAudience, noEnd),
	kindOf[StartStreamingRunResult]("startStreamingRunResult", streamAudience, noEnd),
	kindOf[StreamRunResult]("streamRunResult", streamAudience, noEnd),
	kindOf[CompleteStreamingRunResult]("completeStreamingRunResult", streamAudience, noEnd),
	kindOf[StartStreamingText]("startStreamingText", streamAudience, noEnd),
	kindOf[StreamText]("streamText", streamAudience, noEnd),
	kindOf[CompleteStreamingText]("completeStreamingText", streamAudience, noEnd),
	kindOf[SkillStarting]("skillStarting", runtimeAudience, noEnd),
	kindOf[SkillConnected]("skillConnected", runtimeAudience, noEnd),
	kindOf[SkillStderr]("skillStderr", runtimeAudience, noEnd),
	kindOf[SkillDisconnected]("skillDisconnected", runtimeAudience, noEnd),
	kindOf[ToolProgress]("toolProgress", runtimeAudience, noEnd),
	kindOf[InitializeRuntime]("initializeRuntime", runtimeAudience, noEnd),
	kindOf[DockerBuildProgress]("dockerBuildProgress", keptAudience, noEnd),
	kindOf[DockerContainerStatus]("dockerContainerStatus", keptAudience, noEnd),
	kindOf[ProxyAccess]("proxyAccess", keptAudience, noEnd),
	kindOf[SandboxCheck]("sandboxCheck", keptAudience, noEnd),
	kindOf[SandboxHint]("sandboxHint", keptAudience, noEnd),
	kindOf[WorkspaceSnapshot]("workspaceSnapshot", keptAudience, noEnd),
	kindOf[FilesRestoreStarted]("filesRestoreStarted", keptAudience, noEnd),
	kindOf[FilesRestored]("filesRestored", keptAudience, noEnd),
	kindOf[Rewound]("rewound", keptAudience, noEnd),
}

// A kind is a type of events.
type kind struct {
	name     Type
	body     reflect.Type
	audience audience
	end      Status
	encode   func(*jsontext.Encoder, Event) error // head and body as one flat object
	decode   func([]byte) (Event, error)
}

// An audience says where events of a type are shown, and whether they are kept.
type audience int

const (
	stateAudience   audience = iota // moves a Run's state; kept
	recordAudience                  // moves a Run's state; kept, but only the journal and lean output show it
	streamAudience                  // shown while it happens; not kept
	runtimeAudience                 // about the runtime; shown, not kept
	keptAudience                    // about the runtime; shown and kept
)

// noEnd is the end of an event that does not end its Run.
const noEnd Status = ""

var (
	kindsByName = index(func(k *kind) Type { return k.name })
	kindsByBody = index(func(k *kind) reflect.Type { return k.body })
)

func index[K comparable](key func(*kind) K) map[K]*kind {
	all := make(map[K]*kind, len(kinds))
	for _, k := range kinds {
		all[key(k)] = k
	}
	return all
}

// Types returns the names of all event types that this version knows, in order.
func Types() []Type { return slices.Sorted(maps.Keys(kindsByName)) }

// An envelope is the members that events have beside those of their body. Events about the
// runtime have no Expert and no step.
type envelope struct {
	Type       Type    `json:"type"`
	ID         string  `json:"id"`
	ExpertKey  *string `json:"expertKey,omitzero"`
	Timestamp  int64   `json:"timestamp"`
	JobID      string  `json:"jobId"`
	RunID      string  `json:"runId"`
	StepNumber *int    `json:"stepNumber,omitzero"`
}

func (v envelope) event(b Body) Event {
	e := Event{ID: v.ID, Timestamp: v.Timestamp, JobID: v.JobID, RunID: v.RunID, Body: b}
	if v.ExpertKey != nil {
		e.ExpertKey = *v.ExpertKey
	}
	if v.StepNumber != nil {
		e.StepNumber = *v.StepNumber
	}
	return e
}

func kindOf[B Body](name Type, a audience, end Status) *kind {
	type wire struct {
		Envelope envelope `json:",embed"`
		Body     B        `json:",embed"`
	}
	return &kind{
		name: name, body: reflect.TypeFor[B](), audience: a, end: end,
		encode: func(enc *jsontext.Encoder, e Event) error {
			v := envelope{Type: name, ID: e.ID, Timestamp: e.Timestamp, JobID: e.JobID, RunID: e.RunID}
			if a != runtimeAudience && a != keptAudience {
				v.ExpertKey, v.StepNumber = &e.ExpertKey, &e.StepNumber
			}
			return json.MarshalEncode(enc, wire{v, e.Body.(B)})
		},
		decode: func(data []byte) (Event, error) {
			var w wire
			err := json.Unmarshal(data, &w, decoding)
			return w.Envelope.event(w.Body), err
		},
	}
}
