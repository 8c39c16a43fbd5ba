// Package approvals is the commands about tool calls that wait for the permission of the user:
// approvals lists them, approve and deny answer.
//
// An answer is recorded in the journal of the job, or handed to the process that runs it
// (internal/cli/answers). It is about one call as it was asked: if that changes, the user is asked
// again. Start reading at [NewList] and [NewApprove].
package approvals

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/complete"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/file"
)

// Source says where the jobs are recorded.
type Source struct {
	Host    *host.Host
	Config  string
	Storage string
}

func (s *Source) addFlags(cmd *cobra.Command) {
	host.AddLocalConfigFlag(cmd, &s.Config)
	cmd.Flags().StringVar(&s.Storage, "storage", "", "directory of the history (default: $PERSTACK_STORAGE_PATH, else that of the project)")
}

func (s *Source) open() (host.History, *file.Store, error) {
	history, err := s.Host.History(s.Storage, s.Config, s.Host.Dir)
	if err != nil {
		return history, nil, err
	}
	return history, file.New(history.Dir, &file.Options{AllowLink: history.Chosen}), nil
}

// A jobCalls is a job, and the calls of it that wait.
type jobCalls struct {
	id      string
	history *engine.History
	calls   []engine.WaitingCall
}

// load folds the job of that id, or the one whose id begins with it.
func (s *Source) load(ctx context.Context, jobs store.Store, id string) (jobCalls, error) {
	id, err := host.FindJob(ctx, jobs, id, s.Host.Command+" approvals lists the jobs that wait")
	if err != nil {
		return jobCalls{}, err
	}
	h, err := engine.Load(ctx, jobs, id)
	if err != nil {
		return jobCalls{}, engine.StoreError(err)
	}
	return jobCalls{id, h, h.Waiting()}, nil
}

// waiting returns the jobs that have calls which wait, newest first.
func waiting(ctx context.Context, jobs store.Store) (all []jobCalls, err error) {
	for info, err := range jobs.Jobs(ctx) {
		if err != nil && info.ID == "" {
			return nil, engine.StoreError(err)
		}
		// A job that runs can have a delegate that waits.
		if info.Status == event.JobCompleted || info.Status == event.JobStoppedByError {
			continue
		}
		h, err := engine.Load(ctx, jobs, info.ID)
		if err != nil {
			continue // perstack log says what is wrong with it
		}
		if calls := h.Waiting(); len(calls) > 0 {
			all = append(all, jobCalls{info.ID, h, calls})
		}
	}
	return all, nil
}

// pick returns the calls that a user names: by id, by the beginning of it, or by RUN/CALL where the
// calls of two runs have the same id.
func (j jobCalls) pick(names []string) (picked []engine.WaitingCall, err error) {
	for _, name := range names {
		matching := j.matching(name)
		switch len(matching) {
		case 1:
			if !slices.ContainsFunc(picked, func(w engine.WaitingCall) bool { return same(w, matching[0]) }) {
				picked = append(picked, matching[0])
			}
		case 0:
			return nil, &engine.AnswerError{ToolCallID: terminal.CleanLine(name), Problem: "does not wait for an answer; it may have one already"}
		default:
			var ids []string
			for _, w := range matching {
				ids = append(ids, w.RunID+"/"+w.Call.ID)
			}
			return nil, host.Usagef("%s can be %s", terminal.CleanLine(name), terminal.CleanLine(strings.Join(ids, " or ")))
		}
	}
	return picked, nil
}

func same(a, b engine.WaitingCall) bool { return a.RunID == b.RunID && a.Call.ID == b.Call.ID }

func (j jobCalls) matching(name string) (found []engine.WaitingCall) {
	for _, w := range j.calls {
		if name == w.Call.ID || name == w.RunID+"/"+w.Call.ID {
			found = append(found, w)
		}
	}
	if len(found) > 0 {
		return found
	}
	for _, w := range j.calls {
		if strings.HasPrefix(w.Call.ID, name) || strings.HasPrefix(w.RunID+"/"+w.Call.ID, name) {
			found = append(found, w)
		}
	}
	return found
}

// complete offers jobs that wait, and then their calls.
func (s *Source) complete(withCalls bool) cobra.CompletionFunc {
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	return func(cmd *cobra.Command, args []string, start string) ([]cobra.Completion, cobra.ShellCompDirective) {
		_, jobs, err := s.open()
		if err != nil || cmd.Context() == nil || len(args) > 0 && !withCalls {
			return nil, directive
		}
		if len(args) == 0 {
			return complete.Jobs(cmd, jobs, start)
		}
		j, err := s.load(cmd.Context(), jobs, args[0])
		if err != nil {
			return nil, directive
		}
		var all []cobra.Completion
		for _, w := range j.calls {
			if terminal.CleanLine(w.Call.ID) == w.Call.ID && !slices.Contains(args[1:], w.Call.ID) { // a shell reads lines
				all = append(all, cobra.CompletionWithDesc(w.Call.ID, brief(w)))
			}
		}
		return all, directive
	}
}

// explainSeal says what can be done about a job whose history is not sealed by the user.
func (s *Source) explainSeal(err error) error {
	if errors.As(err, new(*store.SealError)) {
		return host.Usagef("%w; its requests cannot be answered, because another program may have written them", err)
	}
	return err
}

// ListOptions are what approvals works with.
type ListOptions struct {
	Source
	Job  string // empty for all that wait
	JSON bool
}

// NewList returns the command approvals. Tests hand in a runF to see the options.
func NewList(h *host.Host, runF func(context.Context, *ListOptions) error) *cobra.Command {
	opts := &ListOptions{Source: Source{Host: h}}
	if runF == nil {
		runF = list
	}
	cmd := &cobra.Command{
		Use:   "approvals [job]",
		Short: "List tool calls that wait for your permission",
		Long: `List the tool calls that wait for your permission: what each of them would do, which Expert
makes it, and which rule says to ask. With a job, everything is shown, including the
changes to files.

A job that waits needs no process: answer with perstack approve or perstack deny, today or
tomorrow, and resume it. A call that waits for more than 7 days counts as denied.
docs/approvals.md says more.`,
		Example: `  perstack approvals
  perstack approvals JOB
  perstack approvals --json | jq .effect.argv`,
		Args: host.AtMost(1, func(args []string) error {
			return host.Usagef("approvals lists the calls of one job, or of all, but got %d jobs", len(args))
		}),
		ValidArgsFunction: opts.complete(false),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := host.RefuseRemote(opts.Config); err != nil {
				return err
			}
			if len(args) > 0 {
				opts.Job = args[0]
			}
			return runF(cmd.Context(), opts)
		},
	}
	opts.addFlags(cmd)
	cmd.Flags().BoolVar(&opts.JSON, "json", false, "print one call on each line, as JSON")
	return cmd
}

func list(ctx context.Context, opts *ListOptions) error {
	_, jobs, err := opts.open()
	if err != nil {
		return err
	}
	var all []jobCalls
	if opts.Job == "" {
		all, err = waiting(ctx, jobs)
	} else {
		var j jobCalls
		j, err = opts.load(ctx, jobs, opts.Job)
		all = []jobCalls{j}
	}
	if err != nil {
		return err
	}
	out := &strings.Builder{}
	for _, j := range all {
		for _, w := range j.calls {
			switch {
			case opts.JSON:
				out.WriteString(asJSON(j.id, w))
			case opts.Job == "":
				fmt.Fprintf(out, "%s  %s  %s\n", j.id, terminal.ShowLine(w.Call.ID), brief(w))
			default:
				describe(out, w, opts.Host.Secrets.Redact)
			}
		}
	}
	if out.Len() == 0 && !opts.JSON {
		out.WriteString("No tool call waits for your permission\n")
	}
	_, err = fmt.Fprint(opts.Host.Stdout, opts.Host.Secrets.Redact(out.String()))
	return err
}
