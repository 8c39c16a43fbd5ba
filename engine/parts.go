package engine

import (
	"context"
	"errors"
	"log/slog"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/skill"
	"github.com/perstack-go/perstack/store"
)

// Parts are what a job runs with and what cannot be written down in a Spec. All of them
// have a default.
type Parts struct {
	Store store.Store // default: a new one in memory
	// Seal seals the records of the job, and checks those of a job that is continued. The
	// Store must be a [store.Sealing]. Default: nothing is sealed, and the Spec says so.
	Seal  *store.Sealer
	Model model.Model // default: made from the Spec

	// Attachments are the bytes of the files that Spec.Input attaches, by their digests.
	Attachments map[string][]byte

	// Skills are tools of the embedding program, by the key of the Expert that gets them;
	// "*" stands for every Expert of the job.
	Skills map[string][]skill.Skill
	// Approver answers questions of the coordinator, and allows or denies tool calls, while the
	// job runs. Without one, a question or such a call stops the job until it is answered.
	Approver Approver
	// Approvals decides which tool calls are carried out. The runtime sets it. Without it, all are.
	Approvals Approvals
	// Granted reports whether an answer that is stored for the user or the project covers a call that
	// would be asked about. Default: none is stored.
	Granted func(GrantRequest) (grant string, ok bool)
	// GrantedPaths are those outside of the sandbox for which such answers are stored, of the skill of
	// an Expert. Default: none.
	GrantedPaths func(expertKey, skillName string) []string
	// Inbox takes answers to approvals from elsewhere while the job runs.
	Inbox *Inbox

	// Variables returns the value of a variable that a provider or a skill of the job
	// needs. Default: those of Environ.
	Variables func(name string) Variable
	// Secrets hides values from the model, the journal and the events. Default: values of
	// variables that skills require and that look like keys.
	Secrets Secrets
	// Environ is the environment as os.Environ returns it: commands and skills get the
	// harmless part of it. Default: that of the process.
	Environ []string
	// Dir is the directory that relative paths in variables start from. Default: that of
	// the process.
	Dir string
	// CacheDir is where packages of skills are kept. Without it, skills that are packages
	// cannot be started.
	CacheDir string
	// PackageHosts are hosts that npm and uv can reach when they fetch packages, besides the
	// registries of their own configuration: host, or host:port.
	PackageHosts []string
	// DataDir is where each skill has a directory of its own for what it writes beside its
	// program. It belongs to one project. Without it, such data is lost when the job ends.
	DataDir string
	// StateDir is what perstack keeps for the user, such as histories and keys. No sandbox shows
	// it.
	StateDir string
	// ToolCacheDir is where sandboxes keep what commands write to caches of tools, which belong to
	// one project. Without it, commands have no caches.
	ToolCacheDir string

	// SnapshotDir is where the states of workspaces are stored, so that files can be restored. It
	// belongs to one project. Without it, nothing is stored.
	SnapshotDir string
	// Snapshots takes them. The runtime sets it.
	Snapshots Snapshots

	Log    *slog.Logger // default: nothing is logged
	Source Source       // clock and ids; default: the system's

	// Lean has events as the journal records them, without checkpoints and repetitions.
	Lean bool
	// Record is told every record of the journal, before the event that it holds. An
	// error stops the job and saves it.
	Record func(store.Record) error
	// Done is told how the job was left, after its last event.
	Done func(Result)

	// History is the journal of a job that is continued, if the caller has folded it
	// already. It must be up to date when the job is locked.
	History *History

	// Container is set by the program that the Docker runtime starts in its container.
	Container *Container

	// Emit is told every event, once it is recorded if it is one of those that are. An
	// error stops the job and saves it. perstack.Run sets it.
	Emit func(event.Event) error
}

// A Variable is the value of an environment variable, and the env file that it comes from;
// empty for the environment itself.
type Variable struct {
	Value string `json:"value"`
	File  string `json:"file,omitzero"`
}

// Secrets hides values.
type Secrets interface {
	// Add hides a value from now on. The name is shown instead.
	Add(name, value string)
	// AddKey hides a value that is known to be a key, and its parts.
	AddKey(name, value string)
	// AddIfRandom hides a value if it looks like a key rather than like ordinary text.
	AddIfRandom(name, value string)
	// Redact takes all hidden values out of a text.
	Redact(text string) string
	// Within returns those hidden values, by name, that occur in the texts.
	Within(texts ...string) map[string]string
}

// An Approver answers what a job asks its user while it runs. It is asked one thing at a time.
type Approver interface {
	// Ask returns the answer to a request. With [ErrNoAnswer] the job stops and waits for
	// an answer. Any other error ends the job as stoppedByError; when it is resumed, it asks
	// again.
	Ask(ctx context.Context, request event.Request) (event.Answer, error)
}

// Snapshots stores states of the workspace. Its methods are called from one goroutine at a time.
type Snapshots interface {
	// Take stores the present state and describes it. Outside, Busy and Reason are left to the
	// engine.
	Take(ctx context.Context) (event.WorkspaceSnapshot, error)
}

// ErrNoAnswer says that a question has no answer yet.
var ErrNoAnswer = errors.New("there is no answer yet")

// A Container is what the program in a container is told about it.
type Container struct {
	Workspace string // directory of the container
	// Hidden are paths in it that no tool can reach, ReadOnly files that no tool can change.
	Hidden, ReadOnly []string
	// Proxies are the addresses of the proxy by which a skill of an Expert reaches out,
	// with the token to show there, by [ProxyName]. They hold secrets.
	Proxies map[string]string
	// Proxy is that of the program itself: it leads to the provider and to remote skills.
	Proxy string
	// Authorities is the file with the certificate authorities that programs must trust.
	Authorities string
	// Packages is the directory of the image that has the packages of skills.
	Packages string
	// Data is where skills have the directories of [Parts.DataDir]; empty if there is none.
	Data string
	// Tmp and Home are where skills have directories of their own; System are the
	// directories of the image that all of them can read.
	Tmp, Home string
	System    []string
	MaxTasks  int // processes and threads of one skill
	// Env are the values of the variables that the user hands to commands.
	Env map[string]string
}

// ProxyName names the proxy address of an Expert's skill. Commands use that of the base
// skill.
func ProxyName(expertKey, skillName string) string { return expertKey + " " + skillName }

// An Opener starts the skills of an Expert. It is called when the Run has been announced,
// on a goroutine of its own.
type Opener func(context.Context, SkillRequest) (*skill.Toolbox, error)

// A SkillRequest says whose skills are started, and what they can tell the Run.
type SkillRequest struct {
	Expert *expert.Expert
	// Delegates are the Experts that it can delegate to, as tools.
	Delegates []*expert.Expert
	// Delegated says that another Expert delegated: the user cannot be asked.
	Delegated bool
	// Plan says that the Run only plans: programs can change no file and reach no host.
	Plan bool
	// Report publishes what happens to skills, for as long as the Run lasts. It can be
	// called from any goroutine and never waits.
	Report func(event.Body)
	// Stop ends the Run with an error, like a [StopError] as the cause of a
	// cancellation. It can be called from any goroutine.
	Stop func(error)
	// Leave decides whether the programs of a skill can use a host or a path that their sandbox does
	// not offer. It waits for the answer of the user, if there is someone to ask, and can be called
	// from any goroutine.
	Leave func(ctx context.Context, skillName string, effect event.Effect) Leaving
	// Opened returns the paths outside of the sandbox that the next program of a skill can use, because
	// of rules and answers. It can be called from any goroutine.
	Opened func(ctx context.Context, skillName string) []string
}

// A Leaving is the decision about leaving the sandbox.
type Leaving struct {
	Allow bool
	// Denied is what the model is told if the user denied it, or a rule that says why; empty if no one
	// could be asked.
	Denied string
}

// A Result says how a job was left.
type Result struct {
	JobID        string
	RunID        string
	CheckpointID string
	Status       event.Status
	TotalSteps   int              // of all Runs of the job
	Text         string           // the answer, when completed
	Pending      []event.ToolCall // questions that wait for the user
	Waiting      []WaitingCall    // calls that wait for the user's permission
	Failure      *event.Failure   // why it was stopped, when by an error
	Err          error            // the error of the Approver, when stopped by that
	Reason       string           // why it was interrupted, or which limit it met
	Limit        *LimitError      // the limit it met, when stopped by one
	Usage        event.Usage      // of the coordinator's conversation
}

// complete fills in the parts that the engine itself needs.
func (p *Parts) complete() {
	if p.Source == nil {
		p.Source = SystemSource()
	}
	if p.Log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
}

// redact takes secrets out of text that comes in.
func (p *Parts) redact(text string) string {
	if p.Secrets == nil {
		return text
	}
	return p.Secrets.Redact(text)
}
