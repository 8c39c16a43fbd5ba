// Package selfcheck looks at a sandbox of level full from inside: it tries what must fail there,
// and what must work. Package sandbox starts this program in a new sandbox to do that, before the
// first job of a machine relies on it.
//
// The package starts nothing and decides nothing. It changes nothing but the temporary workspace
// that the sandbox was made for. Start reading at [Init]; the checks are in checks_linux.go.
package selfcheck

// Word is the first argument of a process that checks its sandbox; the second one is a [Spec]. It
// is no command of perstack.
const Word = "perstack-check-sandbox"

// ExitCode is that of a process that made all checks, whatever they found. A sandbox that does not
// report it does not report the truth.
const ExitCode = 42

// Answer is what the listener of the sandbox sends to each connection.
const Answer = "perstack"

// The names of the files that the checks look for.
const (
	HiddenFile = ".env"          // in the workspace
	FrozenFile = "perstack.toml" // in the workspace
	PinnedDir  = ".git"          // in the workspace
	Content    = "content"       // of every file
)

// A Spec says where things are.
type Spec struct {
	Workspace string `json:"workspace"`
	Home      string `json:"home"`
	Outside   string `json:"outside"` // a file of the machine that must not be visible
	Host      int    `json:"host"`    // a port that the machine listens on, at 127.0.0.1
	Proxy     int    `json:"proxy"`   // the port of the sandbox's own listener
}

// A Result is the outcome of one check.
type Result struct {
	Name   string `json:"name"`
	What   string `json:"what"`           // the sandbox must do
	Found  string `json:"found,omitzero"` // if it does
	Failed string `json:"failed,omitzero"`
}

// Names are those of the checks, in their order.
func Names() (names []string) {
	for _, c := range checks() {
		names = append(names, c.name)
	}
	return names
}

// A check examines one protection. It returns an error if that is missing.
type check struct {
	name, what string
	look       func(Spec) (found string, err error)
}

// Run makes all checks.
func Run(spec Spec) (results []Result) {
	for _, c := range checks() {
		r := Result{Name: c.name, What: c.what}
		found, err := c.look(spec)
		if err != nil {
			r.Failed = err.Error()
		} else {
			r.Found = found
		}
		results = append(results, r)
	}
	return results
}
