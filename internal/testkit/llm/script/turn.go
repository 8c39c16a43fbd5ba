package script

// A Turn is one answer, as far as a wire speaks it. Parts stand in this order: reasoning,
// redacted, hosted, text, calls.
type Turn struct {
	Reasoning, Signature string   // a thought; Signature is what proves it, on wires that have such a thing
	Redacted             string   // data of a thought that nobody may read, on wires that have such a thing
	Hosted               []string // what the provider ran itself: blocks of JSON in the words of the wire
	Text                 string
	Calls                []Call
	Stop                 string // the reason of the end in the words of the wire; "": what follows from the rest
	NoStop               bool   // no reason of the end is given
	Length               bool   // the answer was cut at the limit of the request
	Usage                Usage
}

// A Call is a call of a tool. A thought may stand before it.
type Call struct {
	ID, Tool, Args       string // ID may be empty: the wire makes one from its place, or has none
	Reasoning, Signature string
}

// Usage is what an answer used. Input is neither from the cache nor written to it; Output
// includes Reasoning. A wire that counts in another way adds up accordingly, so that a
// client that normalises gets the same from all.
type Usage struct {
	Input, Output, Cached, CacheWrite, Reasoning int
}
