package engine

import "github.com/perstack-go/perstack/event"

// A Thread is the messages of a conversation, oldest first. Threads are immutable and
// share their past: appending costs one link, however long the conversation is, and
// two branches of a job keep their common part once.
type Thread struct {
	last *link
}

type link struct {
	prev    *link
	message *event.Message
	length  int
}

// Append returns t with messages behind it. t itself stays as it is.
func (t Thread) Append(messages ...*event.Message) Thread {
	for _, m := range messages {
		t.last = &link{prev: t.last, message: m, length: t.Len() + 1}
	}
	return t
}

// Len returns the number of messages.
func (t Thread) Len() int {
	if t.last == nil {
		return 0
	}
	return t.last.length
}

// Last returns the newest message, or nil.
func (t Thread) Last() *event.Message {
	if t.last == nil {
		return nil
	}
	return t.last.message
}

// messagesAfter returns head followed by the messages of t, as one new slice.
func (t Thread) messagesAfter(head ...*event.Message) []*event.Message {
	all := make([]*event.Message, len(head)+t.Len())
	copy(all, head)
	for l := t.last; l != nil; l = l.prev {
		all[len(head)+l.length-1] = l.message
	}
	return all
}
