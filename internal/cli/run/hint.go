package run

import (
	"strings"

	"github.com/perstack-go/perstack/internal/cli/host"
)

// again is the command that goes on with a job, ready to be pasted into a shell: it
// repeats the flags by which this run found its files, and those that limit it. args
// come first.
func (o *Options) again(jobID string, args ...string) string {
	words := append([]string{"run"}, args...)
	words = append(words, "--continue-job", jobID)
	add := func(flag, value string) {
		if value != "" {
			words = append(words, flag, value)
		}
	}
	add("--config", o.Config)
	add("--workspace", o.Workspace)
	add("--storage", o.Storage)
	add("--provider", o.Provider)
	add("--model", o.Model)
	add("--reasoning-budget", o.Reasoning)
	add("--cassette", o.Cassette)
	// Without these a job that ran behind a wall would go on without one.
	add("--runtime", o.Runtime)
	if o.ReadOnlyWorkspace {
		words = append(words, "--read-only-workspace")
	}
	if o.Sandbox {
		words = append(words, "--sandbox")
	}
	if o.Offline {
		words = append(words, "--offline")
	}
	// --shared-cell is left out: nobody should take a wall down by pasting a line.
	for _, name := range o.Env {
		add("--env", name)
	}
	add("--base-image", o.BaseImage)
	add("--proxy", o.Proxy)
	for _, path := range o.EnvPath {
		add("--env-path", path)
	}
	add("--max-steps", (&count[int]{to: &o.Limits.MaxSteps}).String())
	add("--max-tokens", (&count[int64]{to: &o.Limits.MaxTokens}).String())
	add("--max-cost", (*dollars)(&o.Limits.MaxCost).String())
	add("--max-duration", (*span)(&o.Limits.MaxDuration).String())
	add("--max-depth", (&count[int]{to: &o.MaxDepth}).String())
	add("--max-parallel", (&count[int]{to: &o.MaxParallel}).String())
	add("--max-retries", (&optionalInt{value: o.MaxRetries}).String())
	add("--timeout", (&optionalInt{value: o.TimeoutMS}).String())
	add("--max-workspace-bytes", o.MaxWorkspaceBytes.String())
	return o.Host.Command + " " + host.ShellJoin(words...)
}

// tellHint is the command that goes on with other words of the user.
func (o *Options) tellHint(jobID, expertKey string) string {
	return strings.Replace(o.again(jobID, expertKey, "QUERY"), "QUERY", `"your words"`, 1)
}

// answerHint is the command that answers a waiting job. A checkpoint is named only if the
// question stands there; after a run it stands where the job is now.
func (o *Options) answerHint(jobID, expertKey, checkpointID string) string {
	hint := o.again(jobID, expertKey, "ANSWER") + " -i"
	if checkpointID != "" {
		hint += " --resume-from " + checkpointID
	}
	return strings.Replace(hint, "ANSWER", `"your answer"`, 1)
}
