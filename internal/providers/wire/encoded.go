package wire

import (
	"bytes"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/model"
)

// Encoded keeps messages as a wire sends them, so that each is encoded once, no matter how
// often it is sent. It has two forms of a message: with its media, and slim, without them.
// A message never changes, so its address identifies it. When the conversation drops a
// message, so does Encoded. The zero value is ready.
type Encoded[T any] struct {
	forms sync.Map // form to T
	count atomic.Int64
}

type form struct {
	message weak.Pointer[event.Message]
	slim    bool
}

// An Encoder writes a message, with its media or without.
type Encoder[T any] func(m *event.Message, slim bool) T

// A Limit is what the messages of a request may have of something in all.
type Limit[T any] struct {
	Most int
	Of   func(T) int
}

// All returns messages as they are sent. The first are slim if all of them together would
// pass a limit.
func (e *Encoded[T]) All(messages []*event.Message, encode Encoder[T], limits ...Limit[T]) []T {
	all := make([]T, len(messages))
	for i, m := range messages {
		all[i] = e.Get(m, false, encode)
	}
	first, heavy := 0, make([]bool, len(all))
	for _, l := range limits {
		weights := make([]int, len(all))
		for i := range all {
			weights[i] = l.Of(all[i])
			heavy[i] = heavy[i] || weights[i] > 0
		}
		first = max(first, Slim(weights, l.Most))
	}
	for i := range first {
		if heavy[i] {
			all[i] = e.Get(messages[i], true, encode)
		}
	}
	return all
}

// Get returns a form of a message, which encode makes the first time. Two goroutines that
// ask at the same time may both encode it; both get the same result.
func (e *Encoded[T]) Get(m *event.Message, slim bool, encode Encoder[T]) T {
	key := form{weak.Make(m), slim}
	if known, ok := e.forms.Load(key); ok {
		return known.(T)
	}
	e.count.Add(1)
	known, loaded := e.forms.LoadOrStore(key, encode(m, slim))
	if !loaded {
		e.dropWith(m, key)
	}
	return known.(T)
}

// Replace sets a form of a message.
func (e *Encoded[T]) Replace(m *event.Message, slim bool, encoded T) {
	key := form{weak.Make(m), slim}
	if _, loaded := e.forms.Swap(key, encoded); !loaded {
		e.dropWith(m, key)
	}
}

// Count returns how often a message was encoded. Tests check that it stays small.
func (e *Encoded[T]) Count() int64 { return e.count.Load() }

// dropWith forgets a form of a message when the garbage collector frees the message.
func (e *Encoded[T]) dropWith(m *event.Message, key form) {
	runtime.AddCleanup(m, e.forms.Delete, any(key))
}

// maxLists is how many lists of tools are kept: about one for each Expert of a job.
const maxLists = 32

// Lists keeps what lists of tools look like on a wire. All Runs of an Expert offer the
// same, and a thousand of them may do so at once: their requests share one text. The zero
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
