package event

// This file is the table of event types: the name of each in JSON, who sees it, and
// how it is encoded. A new type needs a line in each of the three lists.

func (StartRun) Type() Type                  { return "startRun" }
func (StartGeneration) Type() Type           { return "startGeneration" }
func (ResumeToolCalls) Type() Type           { return "resumeToolCalls" }
func (FinishAllToolCalls) Type() Type        { return "finishAllToolCalls" }
func (CallTools) Type() Type                 { return "callTools" }
func (CallDelegate) Type() Type              { return "callDelegate" }
func (CallInteractiveTool) Type() Type       { return "callInteractiveTool" }
func (ResolveToolResults) Type() Type        { return "resolveToolResults" }
func (AttemptCompletion) Type() Type         { return "attemptCompletion" }
func (FinishToolCall) Type() Type            { return "finishToolCall" }
func (Retry) Type() Type                     { return "retry" }
func (ContinueToNextStep) Type() Type        { return "continueToNextStep" }
func (CompleteRun) Type() Type               { return "completeRun" }
func (StopRunByInteractiveTool) Type() Type  { return "stopRunByInteractiveTool" }
func (StopRunByDelegate) Type() Type         { return "stopRunByDelegate" }
func (StopRunByExceededMaxSteps) Type() Type { return "stopRunByExceededMaxSteps" }
func (StopRunByError) Type() Type            { return "stopRunByError" }
func (StopRunByLimit) Type() Type            { return "stopRunByLimit" }
func (StopRunByInterrupt) Type() Type        { return "stopRunByInterrupt" }
func (LimitWarning) Type() Type              { return "limitWarning" }
func (DefinitionChanged) Type() Type         { return "definitionChanged" }
func (ModelFallback) Type() Type             { return "modelFallback" }

func (StartToolCall) Type() Type { return "startToolCall" }
func (EndToolCall) Type() Type   { return "endToolCall" }

func (StartStreamingReasoning) Type() Type    { return "startStreamingReasoning" }
func (StreamReasoning) Type() Type            { return "streamReasoning" }
func (CompleteStreamingReasoning) Type() Type { return "completeStreamingReasoning" }
func (StartStreamingRunResult) Type() Type    { return "startStreamingRunResult" }
func (StreamRunResult) Type() Type            { return "streamRunResult" }
func (CompleteStreamingRunResult) Type() Type { return "completeStreamingRunResult" }

func (SkillStarting) Type() Type     { return "skillStarting" }
func (SkillConnected) Type() Type    { return "skillConnected" }
func (SkillStderr) Type() Type       { return "skillStderr" }
func (SkillDisconnected) Type() Type { return "skillDisconnected" }
func (ToolProgress) Type() Type      { return "toolProgress" }

func (InitializeRuntime) Type() Type     { return "initializeRuntime" }
func (DockerBuildProgress) Type() Type   { return "dockerBuildProgress" }
func (DockerContainerStatus) Type() Type { return "dockerContainerStatus" }
func (ProxyAccess) Type() Type           { return "proxyAccess" }
func (SandboxCheck) Type() Type          { return "sandboxCheck" }

func (StartRun) audience() audience                  { return stateAudience }
func (StartGeneration) audience() audience           { return stateAudience }
func (ResumeToolCalls) audience() audience           { return stateAudience }
func (FinishAllToolCalls) audience() audience        { return stateAudience }
func (CallTools) audience() audience                 { return stateAudience }
func (CallDelegate) audience() audience              { return stateAudience }
func (CallInteractiveTool) audience() audience       { return stateAudience }
func (ResolveToolResults) audience() audience        { return stateAudience }
func (AttemptCompletion) audience() audience         { return stateAudience }
func (FinishToolCall) audience() audience            { return stateAudience }
func (Retry) audience() audience                     { return stateAudience }
func (ContinueToNextStep) audience() audience        { return stateAudience }
func (CompleteRun) audience() audience               { return stateAudience }
func (StopRunByInteractiveTool) audience() audience  { return stateAudience }
func (StopRunByDelegate) audience() audience         { return stateAudience }
func (StopRunByExceededMaxSteps) audience() audience { return stateAudience }
func (StopRunByError) audience() audience            { return stateAudience }
func (StopRunByLimit) audience() audience            { return stateAudience }
func (StopRunByInterrupt) audience() audience        { return stateAudience }
func (LimitWarning) audience() audience              { return stateAudience }
func (DefinitionChanged) audience() audience         { return stateAudience }
func (ModelFallback) audience() audience             { return stateAudience }

func (StartToolCall) audience() audience { return recordAudience }
func (EndToolCall) audience() audience   { return recordAudience }

func (StartStreamingReasoning) audience() audience    { return streamAudience }
func (StreamReasoning) audience() audience            { return streamAudience }
func (CompleteStreamingReasoning) audience() audience { return streamAudience }
func (StartStreamingRunResult) audience() audience    { return streamAudience }
func (StreamRunResult) audience() audience            { return streamAudience }
func (CompleteStreamingRunResult) audience() audience { return streamAudience }

func (SkillStarting) audience() audience     { return runtimeAudience }
func (SkillConnected) audience() audience    { return runtimeAudience }
func (SkillStderr) audience() audience       { return runtimeAudience }
func (SkillDisconnected) audience() audience { return runtimeAudience }
func (ToolProgress) audience() audience      { return runtimeAudience }

func (InitializeRuntime) audience() audience     { return runtimeAudience }
func (DockerBuildProgress) audience() audience   { return keptAudience }
func (DockerContainerStatus) audience() audience { return keptAudience }
func (ProxyAccess) audience() audience           { return keptAudience }
func (SandboxCheck) audience() audience          { return keptAudience }

// codecs knows how to encode and decode each type. It is never written to.
var codecs = map[Type]codec{
	"startRun":                   runCodec[StartRun](),
	"startGeneration":            runCodec[StartGeneration](),
	"resumeToolCalls":            runCodec[ResumeToolCalls](),
	"finishAllToolCalls":         runCodec[FinishAllToolCalls](),
	"callTools":                  runCodec[CallTools](),
	"callDelegate":               runCodec[CallDelegate](),
	"callInteractiveTool":        runCodec[CallInteractiveTool](),
	"resolveToolResults":         runCodec[ResolveToolResults](),
	"attemptCompletion":          runCodec[AttemptCompletion](),
	"finishToolCall":             runCodec[FinishToolCall](),
	"retry":                      runCodec[Retry](),
	"continueToNextStep":         runCodec[ContinueToNextStep](),
	"completeRun":                runCodec[CompleteRun](),
	"stopRunByInteractiveTool":   runCodec[StopRunByInteractiveTool](),
	"stopRunByDelegate":          runCodec[StopRunByDelegate](),
	"stopRunByExceededMaxSteps":  runCodec[StopRunByExceededMaxSteps](),
	"stopRunByError":             runCodec[StopRunByError](),
	"stopRunByLimit":             runCodec[StopRunByLimit](),
	"stopRunByInterrupt":         runCodec[StopRunByInterrupt](),
	"limitWarning":               runCodec[LimitWarning](),
	"definitionChanged":          runCodec[DefinitionChanged](),
	"modelFallback":              runCodec[ModelFallback](),
	"startToolCall":              runCodec[StartToolCall](),
	"endToolCall":                runCodec[EndToolCall](),
	"startStreamingReasoning":    runCodec[StartStreamingReasoning](),
	"streamReasoning":            runCodec[StreamReasoning](),
	"completeStreamingReasoning": runCodec[CompleteStreamingReasoning](),
	"startStreamingRunResult":    runCodec[StartStreamingRunResult](),
	"streamRunResult":            runCodec[StreamRunResult](),
	"completeStreamingRunResult": runCodec[CompleteStreamingRunResult](),
	"skillStarting":              runtimeCodec[SkillStarting](),
	"skillConnected":             runtimeCodec[SkillConnected](),
	"skillStderr":                runtimeCodec[SkillStderr](),
	"skillDisconnected":          runtimeCodec[SkillDisconnected](),
	"toolProgress":               runtimeCodec[ToolProgress](),
	"initializeRuntime":          runtimeCodec[InitializeRuntime](),
	"dockerBuildProgress":        runtimeCodec[DockerBuildProgress](),
	"dockerContainerStatus":      runtimeCodec[DockerContainerStatus](),
	"proxyAccess":                runtimeCodec[ProxyAccess](),
	"sandboxCheck":               runtimeCodec[SandboxCheck](),
}
