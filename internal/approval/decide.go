package approval

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/rawjson"
)

// execTool is the base tool that runs commands.
const execTool = "exec"

// A Class is what kind of effect a call has.
type Class int

// The classes.
const (
	Reads   Class = iota // a base tool that only reads
	Writes               // a base tool that changes files
	Starts               // a command, or a tool of a skill
	Escapes              // something outside of the sandbox: a host or a path
)

// A Request is a call that is decided about. Its principal is the Expert, its action the tool, its
// resource the command, the path or the host.
type Request struct {
	Expert, Skill, Tool string
	Args                rawjson.Value
	Class               Class
	Sandboxed           bool // a sandbox or a container holds the effects
	// Accepted says that the call starts nothing on this machine, or that the user has turned the
	// sandbox off: without a sandbox, it counts as if it had one.
	Accepted bool

	Command     []string // of exec: the program and its arguments
	InWorkspace bool     // the program lies in the workspace
	Env         []string // names of the variables that the call sets
	Path        string   // of a file tool, relative to the workspace, as it was resolved
	Whole       bool     // the call reaches everything below Path, too
	Host        string   // host:port, of a connection

	// Destructive says that the server describes the tool so; Network that it can reach hosts.
	Destructive, Network bool
	// ReadOnly says that the server describes the tool so, and that the user trusts its word.
	ReadOnly bool
}

// reads reports whether the call is known to change nothing.
func (q *Request) reads() bool { return q.Class == Reads || q.Class == Starts && q.ReadOnly }

// argument returns the text of an argument.
func (q *Request) argument(pointer string) (string, bool) {
	value := q.Args
	for key := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		key = strings.NewReplacer("~1", "/", "~0", "~").Replace(key)
		var members map[string]rawjson.Value
		var items []rawjson.Value
		switch {
		case json.Unmarshal(value, &members) == nil && members != nil:
			member, ok := members[key]
			if !ok {
				return "", false
			}
			value = member
		case json.Unmarshal(value, &items) == nil:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(items) {
				return "", false
			}
			value = items[i]
		default:
			return "", false
		}
	}
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text, true
	}
	return string(value), true
}

// A Policy is all rules that count, and what earlier answers granted.
type Policy struct {
	job.Approvals
	// Granted reports whether an earlier answer covers a request.
	Granted func(q *Request) (grant string, ok bool)
}

// A Decision is what happens to a request.
type Decision struct {
	Do  job.Verdict
	By  string // what decided: a rule, a preset, a grant
	Why string // of the rule
	// Remember is false if the answer to this question must not be kept.
	Remember bool
}

// Decide decides about a request. The strictest rule that matches counts, whatever its origin.
// Without one, the preset does. Grants answer questions, and refuse nothing. A rule more, to ask
// or to deny, never makes a decision less strict.
func (p *Policy) Decide(q *Request) Decision {
	d := p.byRules(q)
	// A rule that allows goes before the preset. A question does not make it less strict.
	if usual := p.byPreset(q); d.Do == "" || d.Do == job.Ask && usual.Do == job.Deny {
		d = usual
	}
	d = p.raise(q, p.plan(q, d))
	if d.Do != job.Ask {
		return d
	}
	if d.Remember && p.Granted != nil {
		if grant, ok := p.Granted(q); ok {
			return Decision{Do: job.Allow, By: grant, Remember: true}
		}
	}
	switch {
	case slices.Contains(p.presets(), job.PresetNever):
		d.Do = job.Deny
	case p.AllowAll:
		d.Do, d.By = job.Allow, "everything is allowed"
	}
	return d
}

// byRules returns what the strictest matching rule says.
func (p *Policy) byRules(q *Request) (d Decision) {
	for _, s := range p.Sources {
		for i := range s.Rules {
			r := &s.Rules[i]
			if strictness(r.Do) < strictness(d.Do) || !matches(r, q) {
				continue
			}
			remember := r.Remember == nil || *r.Remember || r.Do != job.Ask
			if r.Do == d.Do { // of equal rules, the one without memory counts
				d.Remember = d.Remember && remember
				continue
			}
			d = Decision{Do: r.Do, By: fmt.Sprintf("rule %d of the %s", i+1, s.Origin), Why: r.Why, Remember: remember}
		}
	}
	return d
}

// strictness orders verdicts. No verdict comes before all others.
func strictness(v job.Verdict) int {
	switch v {
	case job.Allow:
		return 1
	case job.Ask:
		return 2
	case job.Deny:
		return 3
	}
	return 0
}

// plan refuses what changes something while the job plans. In a sandbox, which shows the workspace
// read-only then, commands can look around. That a server says it only reads does not count, even if
// the user trusts its word: what is asked of a remote one can change something there.
func (p *Policy) plan(q *Request, d Decision) Decision {
	if p.Plan && q.Class != Reads && !(q.Class == Starts && q.Sandboxed) {
		return Decision{Do: job.Deny, By: "the job only plans", Why: "nothing can be changed until the user accepts a plan"}
	}
	return d
}

// byPreset decides about a request that no rule matches: as the strictest preset of all files does.
// Presets are compared by what they do, and not by their names: never allows what ask asks about.
func (p *Policy) byPreset(q *Request) (d Decision) {
	for _, preset := range p.presets() {
		if do := ofPreset(preset, q); strictness(do) > strictness(d.Do) {
			d = Decision{Do: do, By: fmt.Sprintf("the preset %s", preset), Remember: true}
		}
	}
	return d
}

// presets returns those of all files.
func (p *Policy) presets() (all []job.Preset) {
	for _, s := range p.Sources {
		if s.Preset != "" && !slices.Contains(all, s.Preset) {
			all = append(all, s.Preset)
		}
	}
	if len(all) == 0 {
		return []job.Preset{job.PresetAuto}
	}
	return all
}

// ofPreset is what one preset does.
func ofPreset(preset job.Preset, q *Request) job.Verdict {
	switch {
	case q.reads():
		return job.Allow
	case preset == job.PresetReadOnly:
		return job.Deny
	case q.Class == Escapes, q.Class == Starts && !q.Sandboxed && !q.Accepted, preset == job.PresetAsk:
		return job.Ask
	}
	return job.Allow
}

// raise makes a decision stricter where rules cannot see what a call does.
func (p *Policy) raise(q *Request, d Decision) Decision {
	if d.Do != job.Allow || q.Class != Starts {
		return d
	}
	switch {
	case q.Destructive && q.Network:
		d.Do, d.By = job.Ask, "the server says that the tool destroys data"
	case !q.Sandboxed && q.Opaque() && p.restrictsCommands():
		d.Do, d.By = job.Ask, fmt.Sprintf("%s can run programs that a rule is about", q.Command[0])
	}
	return d
}

// restrictsCommands reports whether a rule asks about commands or denies them.
func (p *Policy) restrictsCommands() bool {
	return slices.ContainsFunc(p.Sources, func(s job.Rules) bool {
		return slices.ContainsFunc(s.Rules, func(r job.Rule) bool {
			return r.Do != job.Allow && (len(r.Command) > 0 || r.Tool != "" && matchText(r.Tool, execTool))
		})
	})
}
