package script

import "net/http"

// A Wire is how one API looks to its clients. All of its functions are needed but those
// that say so.
type Wire struct {
	Name string // the provider, as perstack.toml names it

	// Env returns the variables by which perstack takes the server at an address for the
	// provider, with the right key.
	Env func(root string) map[string]string

	// Takes reports whether a request is one for this API, by its path from the root on:
	// at a wrong base URL there is no service. The server asks its wires in turn.
	Takes func(r *http.Request) bool

	// Misses reports whether a request without a handler was meant for this API, which then
	// says in its own way that there is none: with these words.
	Misses func(r *http.Request) (words string, is bool)

	// Key says whether a request proves to have the right key: by a header, a token or a
	// signature. sent is false if it tries nothing of the kind.
	Key func(r *http.Request, body []byte, s *Script) (sent, right bool)

	// Look refuses what the service would refuse (a wrong key too), with the status it
	// would have. It says what is asked, as far as that can be read, in any case.
	Look func(r *http.Request, body []byte, s *Script) (Asked, *Problem)

	// ContentType is that of the stream.
	ContentType string

	// Events is the whole answer, each event as it stands on the wire.
	Events func(t *Turn, re Reply) [][]byte

	// Refuse writes an error in the place of an answer, as the service words it.
	Refuse func(w http.ResponseWriter, f Failure, id string)

	// Error is an error inside a stream.
	Error func(f Failure) []byte

	// Begin and End are what stands before and after the words of an answer; Delta is a
	// piece of its words. extra is the JSON of a member that the service does not have, to
	// be put beside them if it is not empty. They make the answers that are too much.
	Begin, End func(t *Turn, re Reply) [][]byte
	Delta      func(words, extra string) []byte

	// Ping is a heartbeat; nil if the API has none.
	Ping []byte

	// Huge is a Delta with so many bytes of the letter a, without them: what stands before
	// and behind.
	Huge func(size int) (head, tail []byte)

	// Beside answers what clients of the API ask for beside answers, like a token, and
	// reports whether it did. Such a request is not counted. It may be nil.
	Beside func(w http.ResponseWriter, r *http.Request, body []byte, s *Script) bool

	// Credentials returns the file that authenticates clients, for APIs that have such a
	// file instead of a key. root is the server's address. It may be nil.
	Credentials func(root, key string) []byte
}

// Asked is what the rules of a script look at, and what an answer takes over.
type Asked struct {
	System    string // all text of the system prompt
	Query     string // all text of the first message
	Last      string // all text of the last message, results of tools included
	Turn      int    // 1 and one for each answer of the assistant before
	Attempt   int    // set by the server
	Model     string
	MaxTokens int // the limit of the answer; 0 if there is none
}

// A Reply is what an answer takes over from its request.
type Reply struct {
	ID    string // 24 hexadecimal digits, for the wire to put its prefix before
	Model string
	Turn  int
}

// A Failure is an error, in words that every wire can speak.
type Failure struct {
	Status  int    // of HTTP; of an error inside a stream, what its kind stands for, or 0
	Kind    string // in the words of the wire; empty: what the status stands for
	Message string
}

// A Problem is why a request is refused.
type Problem struct {
	Status  int
	Message string
}
