package skill

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/terminal"
)

const (
	// maxProblems and maxProblemText bound what a model is told about one call.
	maxProblems    = 20
	maxProblemText = 2048
)

// An ArgumentError says what is wrong with the arguments of a call, in words for the
// model that wrote them.
type ArgumentError struct {
	Tool     string
	Problems []string
}

func (e *ArgumentError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the arguments do not fit the input schema of the tool %s, so it was not called.", e.Tool)
	for i, p := range e.Problems {
		line := "\n- " + p
		if i == maxProblems || b.Len()+len(line) > maxProblemText {
			b.WriteString("\n- and more")
			break
		}
		b.WriteString(line)
	}
	return b.String()
}

// Check reports what is wrong with the arguments of a call, as an [ArgumentError]. Calls
// of unknown tools, and those whose tool cannot be checked or does it itself, are not
// its matter.
func (b *Toolbox) Check(call event.ToolCall) error {
	r, ok := b.table.Load().byName[call.ToolName]
	if !ok || r.schema == nil {
		return nil
	}
	s := r.schema()
	if s == nil {
		return nil
	}
	var args any = map[string]any{}
	if len(call.Args) > 0 {
		if err := json.Unmarshal(call.Args, &args); err != nil {
			return &ArgumentError{r.tool.Name, []string{"the arguments are not valid JSON"}}
		}
	}
	problems := s.problems(args, len(call.Args))
	if len(problems) == 0 {
		return nil
	}
	for i, p := range problems {
		problems[i] = terminal.RevealLine(p) // the words of the schema are the server's
	}
	return &ArgumentError{r.tool.Name, problems}
}
