package base

import (
	"bytes"
	"context"
	"embed"
	"sync"

	"github.com/perstack-go/perstack/internal/schema"
	"github.com/perstack-go/perstack/internal/skills/base/prompt"
	"github.com/perstack-go/perstack/skill"
)

// tools are the base tools by name. Every tool adds itself, in the file that has its name,
// while the package is initialised. After that the table does not change.
var tools = table{}

type table map[string]*tool

func (all table) add(t *tool) *tool {
	all[t.name] = t
	return t
}

// A tool is the code that answers calls. Its description for models is in package prompt.
type tool struct {
	name       string
	readOnly   bool
	memoryOnly bool
	repeatable bool
	// restrictsItself says that the tool uses restricted threads where it has to. The other tools
	// run on them as a whole.
	restrictsItself bool

	arguments func() ([]byte, error) // schema of the arguments, which all skills share
	derived   func() ([]byte, error) // the same, as their Go type has it
	call      func(ctx context.Context, s *Skill, args []byte) answer
}

// A trait sets a property of a tool. Without traits a tool writes and must not run twice.
type trait func(*tool)

func readOnly(t *tool)        { t.readOnly, t.repeatable = true, true }
func memoryOnly(t *tool)      { t.memoryOnly = true }
func repeatable(t *tool)      { t.repeatable = true }
func restrictsItself(t *tool) { t.restrictsItself = true }

// schemas has the schema of each tool's arguments. Every run describes all tools before its first
// request, and deriving the schemas from Go types would take longer than the rest of that. A test
// compares them with the types; go test -update writes them.
//
//go:embed schemas/*.json
var schemas embed.FS

// define makes a tool of a function. Its arguments are decoded into A, which is prepared on first
// use: that takes time, and most commands of this program call no tools.
func define[A any](name string, run func(*Skill, context.Context, A) answer, traits ...trait) *tool {
	args := sync.OnceValues(schema.For[A])
	t := &tool{name: name}
	t.arguments = sync.OnceValues(func() ([]byte, error) {
		text, err := schemas.ReadFile("schemas/" + name + ".json")
		return bytes.TrimSpace(text), err
	})
	t.derived = func() ([]byte, error) {
		a, err := args()
		if err != nil {
			return nil, err
		}
		return a.JSON(), nil
	}
	t.call = func(ctx context.Context, s *Skill, given []byte) answer {
		a, err := args()
		if err != nil {
			return refuseError(err)
		}
		decoded, err := a.Decode(given)
		if err != nil {
			return refuseError(err)
		}
		return run(s, ctx, decoded)
	}
	for _, set := range traits {
		set(t)
	}
	return t
}

// describe returns what a model is shown of the tool.
func (t *tool) describe(p prompt.Prompt) (skill.Tool, error) {
	arguments, err := t.arguments()
	return skill.Tool{
		Name: p.Name, Title: p.Title, Description: p.Description, InputSchema: arguments,
		ReadOnly: t.readOnly, MemoryOnly: t.memoryOnly, Repeatable: t.repeatable, Checked: true, Ours: true,
	}, err
}

// noArgs are the arguments of a tool that takes none.
type noArgs struct{}
