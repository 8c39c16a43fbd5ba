package rules

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/approval"
	"github.com/perstack-go/perstack/internal/approval/grants"
	"github.com/perstack-go/perstack/internal/cli/complete"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/consent"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/rawjson"
)

// TestOptions are what test works with.
type TestOptions struct {
	Host   *host.Host
	Config string
	JSON   bool

	Tool    string
	Command []string // words after exec
	Skill   string
	Expert  string
	Path    string
	To      string // host
	Args    string // JSON
	Env     []string
}

func newTest(h *host.Host, runF func(context.Context, *TestOptions) error) *cobra.Command {
	opts := &TestOptions{Host: h}
	if runF == nil {
		runF = test
	}
	cmd := &cobra.Command{
		Use:   "test [flags] -- <tool> [word...]",
		Short: "Show which rule decides about a tool call",
		Long: `Show what would happen to a tool call, in a sandbox and without one, and which rule or
preset decides. Nothing is started. After exec, the words are those of the command, as a
program gets them: no shell reads them.

Without --expert, rules and grants for a single Expert do not match. A call of another
skill than the base skill needs --skill. A connection to a host that is not in
allowedDomains is tested with --host alone, and a directory outside of the sandbox with
--path alone.`,
		Example: `  perstack rules test -- exec git push origin main
  perstack rules test --path src/main.go -- writeTextFile
  perstack rules test --skill github --args '{"repo":"acme/site"}' -- createIssue
  perstack rules test --host registry.example.com:443
  perstack rules test --path /srv/datasets`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				opts.Tool, opts.Command = args[0], args[1:]
			}
			return runF(cmd.Context(), opts)
		},
	}
	flags := cmd.Flags()
	flags.SetInterspersed(false) // the words of a command can look like flags
	host.AddLocalConfigFlag(cmd, &opts.Config)
	flags.BoolVar(&opts.JSON, "json", false, "print the decisions as JSON")
	flags.StringVar(&opts.Skill, "skill", expert.BaseSkill, "skill that has the tool")
	flags.StringVar(&opts.Expert, "expert", "", "key of the Expert that calls")
	flags.StringVar(&opts.Path, "path", "", "path of a file tool, relative to the workspace, or an absolute one outside of the sandbox")
	flags.StringVar(&opts.To, "host", "", "host, or host:port, of a connection")
	flags.StringVar(&opts.Args, "args", "", "arguments of the call, as a JSON object")
	flags.StringArrayVar(&opts.Env, "env", nil, "name of a variable that the command sets; can be repeated")
	if err := cmd.RegisterFlagCompletionFunc("expert", func(cmd *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return complete.Expert(h, &opts.Config)(cmd, nil, word)
	}); err != nil {
		panic(err) // the flag is defined above
	}
	return cmd
}

// A verdict is what happens to a call.
type verdict struct {
	Do       job.Verdict `json:"do"`
	By       string      `json:"by"`
	Why      string      `json:"why,omitzero"`
	Remember bool        `json:"remember"` // whether the answer to a question can be kept
}

func test(_ context.Context, opts *TestOptions) error {
	q, err := opts.request()
	if err != nil {
		return err
	}
	s, err := load(opts.Host, opts.Config)
	if err != nil {
		return err
	}
	opts.findProgram(q)
	policy := approval.Policy{Approvals: s.approvals, Granted: func(q *approval.Request) (string, bool) {
		call := grants.Call{
			Expert: q.Expert, Skill: q.Skill, Tool: q.Tool, Args: q.Args, Command: q.Command, Env: q.Env,
			Opaque: q.Opaque(), Digest: func() string { return "" }, // the files that it would use are not read
		}
		if q.Class == approval.Escapes {
			call.Host, call.Path = q.Host, q.Path
		}
		return s.grants.Covers(call)
	}}
	var verdicts [2]verdict
	for i, sandboxed := range []bool{true, false} {
		q.Sandboxed = sandboxed
		d := policy.Decide(q)
		verdicts[i] = verdict{d.Do, d.By, d.Why, d.Remember}
	}
	if opts.JSON {
		return host.WriteJSON(opts.Host.Stdout, struct {
			Format         int     `json:"format"` // 1
			Sandboxed      verdict `json:"sandboxed"`
			WithoutSandbox verdict `json:"withoutSandbox"`
			Opaque         bool    `json:"opaque"` // the command can run others
		}{1, verdicts[0], verdicts[1], q.Opaque()})
	}
	out := &strings.Builder{}
	fmt.Fprintf(out, "in a sandbox:       %s\nwithout a sandbox:  %s\n", verdicts[0], verdicts[1])
	if q.Opaque() {
		fmt.Fprintf(out, "%s can run other programs, and no rule sees which\n", terminal.RevealLine(q.Command[0]))
	}
	_, err = fmt.Fprint(opts.Host.Stdout, out)
	return err
}

func (v verdict) String() string {
	text := "by " + v.By
	if v.Why != "" {
		text += ": " + v.Why
	}
	if v.Do == job.Ask && !v.Remember {
		text += " (each time)"
	}
	return fmt.Sprintf("%-5s  %s", v.Do, terminal.RevealLine(text))
}

// request returns the call that the flags describe.
func (o *TestOptions) request() (*approval.Request, error) {
	q := &approval.Request{Expert: o.Expert, Skill: o.Skill, Tool: o.Tool, Path: filepath.ToSlash(o.Path), Class: approval.Starts, Env: o.Env}
	outside := o.Tool == "" && o.To == "" && filepath.IsAbs(o.Path)
	switch {
	case outside:
		q.Path, q.Whole, q.Class = filepath.ToSlash(filepath.Clean(o.Path)), true, approval.Escapes
	case o.Tool == "" && o.To == "":
		return nil, host.Usagef("no tool is named; write: perstack rules test -- exec git push")
	case o.To != "" && o.Tool != "":
		return nil, host.Usagef("--host is for a connection, which has no tool; leave one of them out")
	case o.To != "":
		q.Host, q.Class = o.To, approval.Escapes
		if !strings.Contains(strings.TrimPrefix(o.To, "["), ":") {
			q.Host += ":443"
		}
	case o.Skill == expert.BaseSkill:
		q.Class = approval.BaseClass(o.Tool)
	}
	isExec := o.Tool == expert.ExecTool && o.Skill == expert.BaseSkill
	switch {
	case isExec && len(o.Command) == 0:
		return nil, host.Usagef("exec needs the words of a command, like: perstack rules test -- exec git push")
	case !isExec && len(o.Command) > 0:
		return nil, host.Usagef("only exec has words; describe the call with --path and --args")
	case isExec && o.Args != "":
		return nil, host.Usagef("--args is not for exec; write the words of the command after it")
	case !isExec && len(o.Env) > 0:
		return nil, host.Usagef("--env is for exec")
	}
	if isExec {
		q.Command = o.Command
		q.Args, _ = json.Marshal(map[string]any{"command": o.Command[0], "args": o.Command[1:]})
		return q, nil
	}
	q.Args = rawjson.Value("{}")
	if o.Args != "" {
		if q.Args = rawjson.Value(o.Args); !jsontext.Value(o.Args).IsValid() || q.Args[0] != '{' {
			return nil, host.Usagef("--args is not a JSON object")
		}
	}
	return q, nil
}

// findProgram finds out whether the program of a command lies in the workspace, which is the current
// directory.
func (o *TestOptions) findProgram(q *approval.Request) {
	if len(q.Command) == 0 {
		return
	}
	program := q.Command[0]
	if !strings.ContainsAny(program, `/\`) {
		environ, _ := sandbox.Environment(o.Host.Environ, nil)
		found, err := sandbox.LookPath(program, environ)
		if err != nil {
			return
		}
		program = found
	}
	q.InWorkspace = slices.ContainsFunc([]string{o.Host.Path(program), consent.Resolve(o.Host.Path(program))}, func(path string) bool {
		return consent.Below(path, o.Host.Dir)
	})
}
