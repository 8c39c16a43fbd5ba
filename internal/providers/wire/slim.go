package wire

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
