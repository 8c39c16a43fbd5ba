package run

import (
	"os"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/store"
)

// The values of --output and --events.
const (
	outputJSON     = "json"
	outputText     = "text"
	outputProgress = "progress"
	eventsFull     = "full"
	eventsLean     = "lean"
)

// check refuses flags that make no sense, before anything is read or started.
func (o *Options) check() error {
	switch o.Output {
	case "", outputJSON, outputText, outputProgress:
	default:
		return host.Usagef("--output %q is unknown; use json, text or progress", o.Output)
	}
	switch o.Events {
	case "", eventsFull, eventsLean:
	default:
		return host.Usagef("--events %q is unknown; use full or lean", o.Events)
	}
	switch {
	case o.HasQuery && o.QueryFile != "":
		return host.Usagef("the query is given twice; leave out the argument or --query-file")
	case o.Continue && o.ContinueJob != "":
		return host.Usagef("--continue and --continue-job exclude each other; give one")
	case o.continues() && o.JobID != "":
		return host.Usagef("--job-id names a new job and cannot be given when one is continued")
	case !o.continues() && o.Expert == "":
		return host.Usagef("no Expert given; call it as: perstack run <expert> [query]")
	case o.IsAnswer && !o.continues():
		return host.Usagef("-i answers a job that waits; add --continue or --continue-job")
	}
	if info, err := os.Stat(o.Host.StoragePath(o.Storage)); err == nil && !info.IsDir() {
		return host.Usagef("%s is not a directory, so it cannot hold the history; choose another with --storage", o.Host.StoragePath(o.Storage))
	}
	for flag, id := range map[string]string{"--job-id": o.JobID, "--continue-job": o.ContinueJob, "--resume-from": o.ResumeFrom} {
		if id == "" {
			continue
		}
		if err := store.CheckID(id); err != nil {
			return host.Usagef("%s: %w", flag, err)
		}
	}
	return nil
}

// continues reports whether the run goes on with a recorded job.
func (o *Options) continues() bool {
	return o.Continue || o.ContinueJob != "" || o.ResumeFrom != ""
}
