package wire

import (
	"slices"

	"github.com/perstack-go/perstack/event"
)

// Slim says how many of the first messages go without their media, so that a request does
// not grow past what its API takes. media is what the media of each message weigh, in
// bytes.
//
// When the limit is passed, half of it is freed at once, and the decision depends
// on earlier messages alone: the start of a conversation looks the same in many requests,
// which is what a provider's cache is good for. The newest message keeps its media; it is
// what the model is asked about.
func Slim(media []int, limit int) (first int) {
	kept := 0
	for i, weight := range media {
		kept += weight
		if kept <= limit {
			continue
		}
		for first < i && kept > limit/2 {
			kept -= media[first]
			first++
		}
	}
	return first
}

// Turns puts successive messages of one speaker together, as most APIs want them.
func Turns[T any](messages []T, speaker func(T) string) (turns [][]T) {
	for _, m := range messages {
		if n := len(turns); n > 0 && speaker(turns[n-1][0]) == speaker(m) {
			turns[n-1] = append(turns[n-1], m)
			continue
		}
		turns = append(turns, []T{m})
	}
	return turns
}

// A Voice is what a request has to know of a message that was encoded.
type Voice struct {
	Role        string
	Empty       bool
	Markable    bool // a mark of the provider's cache may stand behind it
	Thinks      bool // it begins with a thought
	OnlyResults bool // it holds what tools returned, and nothing else
}

// A Conversation is encoded messages as Claude's services want them: instructions are separate,
// and successive messages of one speaker are one turn.
type Conversation[T interface {
	comparable
	Voice() Voice
}] struct {
	System, Talk []T
	Turns        [][]T      // the talk
	Marked       map[T]bool // where the provider is asked to cache all that comes before
}

// Arrange puts the messages of a request together. marks is how many marks of its cache the
// provider takes. The last one moves along: the next request finds this one in the cache.
func (c *Conversation[T]) Arrange(messages []*event.Message, encoded []T, marks int) {
	c.Marked = map[T]bool{}
	for i, e := range encoded {
		v := e.Voice()
		if v.Empty {
			continue
		}
		if messages[i].Cache && v.Markable && len(c.Marked) < marks-1 {
			c.Marked[e] = true
		}
		if messages[i].Type == event.InstructionMessage {
			c.System = append(c.System, e)
		} else {
			c.Talk = append(c.Talk, e)
		}
	}
	c.Turns = Turns(c.Talk, func(e T) string { return e.Voice().Role })
	for _, e := range slices.Backward(c.Talk) {
		if marks > 0 && e.Voice().Markable {
			c.Marked[e] = true
			break
		}
	}
}

// MayThink reports whether Claude can continue thinking. A turn that used tools without
// a thought before, because thinking was off or the thought was another model's, must be
// ended without: its services refuse it otherwise.
func (c *Conversation[T]) MayThink() bool {
	asks := func(turn []T) bool { // it says more than what tools returned
		return slices.ContainsFunc(turn, func(e T) bool { return !e.Voice().OnlyResults })
	}
	for i, turn := range slices.Backward(c.Turns) {
		switch first := turn[0].Voice(); {
		case first.Role == RoleUser && asks(turn):
			return true // nothing was answered since
		case first.Role != RoleUser && (i == 0 || asks(c.Turns[i-1])):
			return first.Thinks
		}
	}
	return true
}

// Who speaks, in the words of most APIs.
const (
	RoleUser      = "user"
	RoleAssistant = "assistant"
)
