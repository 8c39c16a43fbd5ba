// Package server has the rules of a registry: what can be published, who may, what a key means, and how
// all of it is written to the log. It keeps everything in a database, and speaks no HTTP.
//
// A [Registry] is one registry. Every change is one transaction: the rows, the leaf that tells about it,
// the hashes of the log and the signed checkpoint are there together, or none of them is. Start reading at
// [Registry.Publish] and [Registry.Resolve].
package server

import (
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/registry/definition"
	"github.com/perstack-go/perstack/internal/registry/server/database"
)

// Options are what a registry needs.
type Options struct {
	Database  *database.DB
	Origin    string      // names the log, such as registry.example.com/log
	Signer    note.Signer // signs the checkpoints
	PublicKey string      // of the signer, as clients verify with it
	Now       func() time.Time
	NewID     func() string
	Random    io.Reader // for the secrets of keys
	Strict    bool      // packages of skills must have an exact version
	ReadOnly  bool      // every change is refused

	LatestByTime bool // latest is the version that was published last, as in the original
	AllScoped    bool // every organization publishes under its scope, persons too

	// Grew is called after each change that added to the log; it must return at once. It can be nil.
	Grew func()

	NewNamesPerDay int // that an organization can publish; 0 is no limit

	// MaxAnswer is how many bytes of definitions one answer can have; 0 is 16 MiB. Readers need no key, so what
	// they can ask for must fit into the memory many times.
	MaxAnswer int64
}

const defaultMaxAnswer = 16 << 20

// A Registry is one registry.
type Registry struct {
	opts  Options
	reads *readCounter
}

// New returns the registry that a database holds.
func New(opts Options) (*Registry, error) {
	if opts.Database == nil || opts.Origin == "" || opts.Signer == nil || opts.PublicKey == "" || opts.Now == nil || opts.NewID == nil || opts.Random == nil {
		return nil, errors.New("a registry needs a database, an origin, a signer with its public key, a clock, ids and a source of secrets")
	}
	if opts.MaxAnswer <= 0 {
		opts.MaxAnswer = defaultMaxAnswer
	}
	return &Registry{opts, newReadCounter(opts.Random)}, nil
}

// An Error is the answer to a request that cannot be granted. Other errors are faults of the registry.
type Error struct {
	Status int // of HTTP
	Reason string
	Field  string
	Hint   string
}

func (e *Error) Error() string { return e.Reason }

// The statuses of errors.
const (
	badRequestStatus      = 400
	unauthenticatedStatus = 401
	notFoundStatus        = 404
	tooLargeStatus        = 413
	invalidStatus         = 422
	unavailableStatus     = 503
)

func badRequest(format string, args ...any) *Error {
	return &Error{Status: badRequestStatus, Reason: fmt.Sprintf(format, args...)}
}

func notFound(format string, args ...any) *Error {
	return &Error{Status: notFoundStatus, Reason: fmt.Sprintf(format, args...)}
}

// errWithheld is the answer to reads of a version in quarantine.
func errWithheld() *Error { return notFound("The version is withheld by an administrator") }

// invalid is the answer to what is not well formed.
func invalid(err error) *Error {
	e := &Error{Status: invalidStatus, Reason: err.Error()}
	if faults, ok := errors.AsType[definition.Faults](err); ok && len(faults) == 1 {
		e.Reason, e.Field, e.Hint = faults[0].Message, faults[0].Field, faults[0].Hint
	}
	return e
}

// unauthenticated is the one answer to every key that is not good.
func unauthenticated() *Error {
	return &Error{Status: unauthenticatedStatus, Reason: "Failed to authenticate"}
}

// parseKey reads the key of an Expert.
func parseKey(text string) (expert.Key, error) {
	key, err := expert.ParseKey(text)
	if err != nil {
		return key, invalid(err)
	}
	return key, nil
}
