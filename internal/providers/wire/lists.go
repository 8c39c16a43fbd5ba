package wire

import (
	"bytes"
	"slices"
	"sync"

	"github.com/perstack-go/perstack/model"
)

// maxLists is how many lists of tools are kept: about one for each Expert of a job.
const maxLists = 32

// Lists keeps what lists of tools look like on a wire. All Runs of an Expert offer the
// same, and a thousand of them may ask at once: their requests share one text. The zero
// value is ready.
type Lists struct {
	mu   sync.Mutex
	kept []list // the newest last
}

type list struct {
	tools []model.Tool
	text  []byte
}

// Get returns the text of a list, which write makes when it is not known.
func (l *Lists) Get(tools []model.Tool, write func([]model.Tool) []byte) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, known := range l.kept {
		if slices.EqualFunc(known.tools, tools, isSame) {
			return known.text
		}
	}
	if len(l.kept) == maxLists {
		l.kept = slices.Delete(l.kept, 0, 1)
	}
	text := write(tools)
	l.kept = append(l.kept, list{slices.Clone(tools), text})
	return text
}

func isSame(a, b model.Tool) bool {
	return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.InputSchema, b.InputSchema)
}
