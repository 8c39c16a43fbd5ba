package wire

import "slices"

// Slim says how many of the first messages go without their media, so that a request does
// not grow past what its API takes. media is what the media of each message weigh, in
// bytes.
//
// When the limit is passed, room is made for half of it at once, and the decision depends
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

// Turns puts neighbours of one speaker together, as most APIs want them.
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

// A Voice is what the rule of [MayThink] looks at in a message.
type Voice struct {
	User        bool // who speaks, or else the model
	Thinks      bool // it begins with a thought
	OnlyResults bool // it holds what tools returned, and nothing else
}

// MayThink reports whether Claude can go on with thinking. A turn that used tools without
// a thought before, because thinking was off or the thought was another model's, must be
// ended without: its services refuse it otherwise.
func MayThink[T any](turns [][]T, voice func(T) Voice) bool {
	asks := func(turn []T) bool { // it says more than what tools returned
		return slices.ContainsFunc(turn, func(m T) bool { return !voice(m).OnlyResults })
	}
	for i := len(turns) - 1; i >= 0; i-- {
		switch first := voice(turns[i][0]); {
		case first.User && asks(turns[i]):
			return true // nothing was answered since
		case !first.User && (i == 0 || asks(turns[i-1])):
			return first.Thinks
		}
	}
	return true
}
