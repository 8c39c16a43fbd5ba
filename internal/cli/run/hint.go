package run

import (
	"strings"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/job"
)

// Again is the command that resumes a job, ready to be pasted into a shell. args come first.
func (o *Options) Again(jobID string, args ...string) string {
	return o.Continued("run", jobID, args...)
}

// Continued is a command that continues a job. It repeats the flags by which this one found its
// files, and those that limit it.
func (o *Options) Continued(command, jobID string, args ...string) string {
	words := append([]string{command}, args...)
	words = append(words, "--continue-job", jobID)
	add := func(flag, value string) {
		if value != "" {
			words = append(words, flag, value)
		}
	}
	addIf := func(flag string, given bool) {
		if given {
			words = append(words, flag)
		}
	}
	add("--config", o.Config)
	add("--workspace", o.Workspace)
	add("--storage", o.Storage)
	f, is := &o.Flags, &o.Flags.Isolation
	addIf("--move-workspace", o.MoveWorkspace)
	add("--provider", f.Provider)
	add("--model", f.Model)
	add("--reasoning-budget", f.Reasoning.String())
	add("--cassette", f.Setting.Cassette)
	// Without these a job that ran in a container would be resumed without one.
	add("--runtime", f.Runtime)
	addIf("--read-only-workspace", is.Container.ReadOnlyWorkspace)
	if is.Sandbox.Restricts() {
		words = append(words, "--sandbox="+string(is.Sandbox))
	}
	for _, path := range is.Reach.Read {
		add("--sandbox-read", path)
	}
	for _, path := range is.Reach.Write {
		add("--sandbox-write", path)
	}
	if is.Reach.Network != job.NetworkHost {
		add("--sandbox-network", is.Reach.Network)
	}
	for _, name := range is.Reach.Domains {
		add("--allow-domain", name)
	}
	addIf("--offline", is.Container.Offline)
	// --shared-sandbox, --sandbox=off, --sandbox-network host and --yes are left out: isolation must not be lowered by pasting a line,
	// and the project can ask for more by then.
	for _, name := range is.Env {
		add("--env", name)
	}
	add("--base-image", is.Container.BaseImage)
	add("--proxy", is.Container.Proxy)
	for _, path := range o.EnvPath {
		add("--env-path", path)
	}
	for _, l := range job.AllLimits() {
		add("--"+l.Flag, host.LimitText(l, &f.Limits))
	}
	return o.Host.Command + " " + terminal.ShellJoin(words...)
}

// tellHint is the command that continues the job with other words of the user.
func (o *Options) tellHint(jobID, expertKey string) string {
	return strings.Replace(o.Again(jobID, expertKey, "QUERY"), "QUERY", `"your words"`, 1)
}

// answerHint is the command that answers a waiting job. A checkpoint is named only if the
// question was asked there; after a run it is where the job is now.
func (o *Options) answerHint(jobID, expertKey, checkpointID string) string {
	hint := o.Again(jobID, expertKey, "ANSWER") + " -i"
	if checkpointID != "" {
		hint += " --resume-from " + terminal.ShellJoin(checkpointID)
	}
	return strings.Replace(hint, "ANSWER", `"your answer"`, 1)
}
