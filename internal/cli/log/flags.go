package log

import (
	"slices"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/jq"
	"github.com/perstack-go/perstack/store"
)

// A mode is one of the things that the command does. Each has the flags that mean
// something to it; any other is refused, so that none is ignored in silence.
type mode struct {
	name  string // as in "does not go with ..."
	flags []string
}

var (
	listJobs       = &mode{"the list of jobs", []string{"take", "offset", "json"}}
	showTranscript = &mode{"the transcript", append([]string{"verbose", "summary"}, selecting...)}
	listEvents     = &mode{"--events", append([]string{"events", "verbose", "summary"}, selecting...)}
	printEvents    = &mode{"--json", append([]string{"json"}, selecting...)}
	printRecords   = &mode{"--records", append([]string{"records"}, selecting...)}
	showCheckpoint = &mode{"--checkpoint", []string{"checkpoint", "messages", "verbose", "json"}}
	showTree       = &mode{"--tree", []string{"tree", "run", "json"}}
	verifyJournal  = &mode{"--verify", []string{"verify"}}
)

// selecting are the flags that choose events.
var selecting = append([]string{"run", "take", "offset", "context", "follow"}, matching...)

// matching are the flags that say what an event has to be like.
var matching = []string{"step", "type", "errors", "tools", "delegations", "filter"}

// aboutOneJob are the flags that mean nothing to the list of jobs. Without a job they are
// about the newest one.
var aboutOneJob = append([]string{"events", "context", "follow", "verbose", "summary", "records", "tree", "verify"}, matching...)

func (o *Options) mode() *mode {
	switch {
	case o.Verify:
		return verifyJournal
	case o.Checkpoint != "":
		return showCheckpoint
	case o.Job == "" && !o.Latest && o.Run == "":
		return listJobs
	case o.Tree:
		return showTree
	case o.Records:
		return printRecords
	case o.JSON:
		return printEvents
	case o.Events:
		return listEvents
	}
	return showTranscript
}

// parse completes the options from the arguments and checks that they fit together.
// changed reports whether a flag was given.
func (o *Options) parse(changed func(flag string) bool, args []string) error {
	if len(args) > 0 {
		if o.Job != "" && o.Job != args[0] {
			return host.Usagef("two jobs are named, %q and %q; log shows one at a time", args[0], o.Job)
		}
		o.Job = args[0]
	}
	if len(args) > 0 || changed("job") {
		if err := store.CheckID(o.Job); err != nil {
			return host.Usagef("%w; %s log lists the jobs", err, o.command())
		}
		if o.Latest {
			return host.Usagef("--latest and a job exclude each other")
		}
	}
	if o.Job == "" && o.Run == "" && o.Checkpoint == "" && slices.ContainsFunc(aboutOneJob, changed) && !(o.All && o.Verify) {
		o.Latest = true
	}
	if err := store.CheckID(o.Run); changed("run") && err != nil {
		return host.Usagef("--run: %w", err)
	}
	if err := store.CheckID(o.Checkpoint); changed("checkpoint") && err != nil {
		return host.Usagef("--checkpoint: %w", err)
	}
	if o.Take < 0 || o.Offset < 0 || o.Context < 0 {
		return host.Usagef("--take, --offset and --context must not be negative")
	}
	if (o.JSON || o.Records) && !changed("take") {
		o.Take = 0 // a program wants everything, or says what it wants
	}
	if o.Follow && (changed("offset") || o.Summary) {
		return host.Usagef("--follow shows the newest of a job that has not ended; leave out --offset and --summary")
	}
	if o.All && (o.Storage != "" || o.Config != "") {
		return host.Usagef("--all lists the jobs of every project; leave out --storage and --config")
	}
	if err := o.checkFlags(changed); err != nil {
		return err
	}
	if changed("context") && !slices.ContainsFunc(matching, changed) {
		return host.Usagef("--context adds what is around rows that are selected; add --filter, --errors or another flag that selects")
	}
	if changed("filter") {
		expr, err := jq.Compile(o.Expr)
		if err != nil {
			return host.Usagef("--filter: %w", err)
		}
		o.Filter.Expr = expr
	}
	return checkTypes(o.Filter.Types)
}

func (o *Options) checkFlags(changed func(flag string) bool) error {
	mode := o.mode()
	all := slices.Concat(selecting, []string{"checkpoint", "messages", "events", "verbose", "summary", "json", "records", "tree", "verify"})
	for _, flag := range all {
		if !changed(flag) || slices.Contains(mode.flags, flag) {
			continue
		}
		if flag == "messages" {
			return host.Usagef("--messages lists those of a checkpoint; add --checkpoint <id>")
		}
		return host.Usagef("--%s does not go with %s", flag, mode.name)
	}
	return nil
}

// command is how the user calls this program.
func (o *Options) command() string {
	if o.Host == nil || o.Host.Command == "" {
		return "perstack"
	}
	return o.Host.Command
}
