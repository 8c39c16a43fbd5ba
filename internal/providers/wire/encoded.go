package wire

import (
	"runtime"
	"sync"
	"weak"

	"github.com/perstack-go/perstack/event"
)

// Encoded keeps what messages look like on a wire, so that each is encoded once however
// often it is sent. A message never changes, so its address stands for it; when the
// conversation lets go of a message, so does Encoded. The zero value is ready.
type Encoded[T any] struct {
	messages sync.Map // weak.Pointer[event.Message] to T
}

// Get returns the encoded form of a message. Two goroutines that ask at once may both
// encode it; both get the same.
func (e *Encoded[T]) Get(m *event.Message, encode func(*event.Message) T) T {
	key := weak.Make(m)
	if known, ok := e.messages.Load(key); ok {
		return known.(T)
	}
	known, loaded := e.messages.LoadOrStore(key, encode(m))
	if !loaded {
		e.watch(m, key)
	}
	return known.(T)
}

// Replace gives a message another form from now on.
func (e *Encoded[T]) Replace(m *event.Message, form T) {
	key := weak.Make(m)
	if _, loaded := e.messages.Swap(key, form); !loaded {
		e.watch(m, key)
	}
}

func (e *Encoded[T]) watch(m *event.Message, key weak.Pointer[event.Message]) {
	runtime.AddCleanup(m, func(key weak.Pointer[event.Message]) { e.messages.Delete(key) }, key)
}
