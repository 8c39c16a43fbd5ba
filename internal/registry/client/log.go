package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/tlog"
	"github.com/perstack-go/perstack/internal/registry/trust"
	"github.com/perstack-go/perstack/internal/wording"
)

// A view is what is known of the log of a registry before an answer.
type view struct {
	stored   trust.Head // as it is stored
	head     trust.Head // what is expected of the answer
	verifier note.Verifier
	known    tlog.Checkpoint // the newest that was seen; of size 0 if there is none
	original bool            // the registry has no log
	rotated  tlog.Checkpoint // where the log got another key than the known one; of size 0 if it has not
}

func newVerifier(key string) (note.Verifier, error) {
	v, err := note.NewVerifier(key)
	if err != nil {
		return nil, fmt.Errorf("%s is not the key of a log; it looks like name+hash+key", wording.Quote(key))
	}
	return v, nil
}

// view returns what is known of the log. Of a registry that was never seen, and whose key is not configured,
// it asks for the key. Once a log is known, a registry cannot say that it has none.
func (c *Client) view(ctx context.Context) (*view, error) {
	stored, err := c.log.Head()
	if err != nil {
		return nil, c.fail(Storage, "known log", err)
	}
	v := &view{stored: stored, head: stored}
	if stored.Checkpoint != "" {
		verifier, err := newVerifier(stored.Key)
		if err == nil {
			v.known, _, err = tlog.OpenCheckpoint([]byte(stored.Checkpoint), stored.Origin, verifier)
		}
		if err != nil {
			return nil, c.fail(Storage, "known log", err)
		}
	}
	switch {
	case !c.options.NewLogKey && stored.HadKey(c.options.LogKey): // the log has proved its new one
	case stored.Known() && c.options.LogKey != "" && c.options.LogKey != stored.Key && !c.options.NewLogKey:
		refused := c.failf(Configuration, "known log", "the key of the log should be %s, and was %s when this machine saw it before", wording.Quote(c.options.LogKey), wording.Quote(stored.Key))
		refused.Hint = "if the new one is right, name it in your own configuration"
		return nil, refused
	case c.options.LogKey != "":
		v.head.Key = c.options.LogKey
	case !stored.Known():
		if err := c.discover(ctx, v); err != nil {
			return v, err
		}
		if v.original && c.options.RequireWitnesses > 0 {
			return v, c.failf(Unverified, "discovery", "the registry has no log, and your configuration requires the cosignatures of witnesses")
		}
		if v.original {
			return v, nil
		}
	}
	if v.verifier, err = newVerifier(v.head.Key); err != nil {
		return nil, c.failf(WrongAnswer, "discovery", "%v", err)
	}
	v.head.Registry = c.base.String()
	if v.head.Origin == "" {
		v.head.Origin = v.verifier.Name() // by the convention of C2SP, a key has the name of its log
	}
	if v.head.API == "" {
		v.head.API, v.head.LogPath = api.V2, api.LogPath
	}
	return v, nil
}

// discover asks a registry what it is.
func (c *Client) discover(ctx context.Context, v *view) error {
	const operation = "discovery"
	body, err := c.do(ctx, request{operation: operation, method: http.MethodGet, path: segments(api.DiscoveryPath), again: true, optional: true})
	if err != nil {
		return err
	}
	if body == nil {
		v.original = true
		return nil
	}
	var d api.Discovery
	if err := c.decode(operation, body, &d); err != nil {
		return err
	}
	for _, p := range []string{d.API, d.Log.Path} {
		if !strings.HasPrefix(p, "/") || path.Clean(p) != p || strings.ContainsAny(p, `\?#%`) || strings.HasPrefix(p, "//") {
			return c.failf(WrongAnswer, operation, "%s is not a path of this registry", wording.Quote(p))
		}
	}
	if len(d.Log.Keys) == 0 || d.Log.Origin == "" {
		return c.failf(WrongAnswer, operation, "the registry names no log, or no key of it")
	}
	v.head.API, v.head.LogPath, v.head.Origin, v.head.Key = d.API, d.Log.Path, d.Log.Origin, d.Log.Keys[0]
	return nil
}

// segments are the parts of a path.
func segments(p string) []string { return strings.Split(strings.TrimPrefix(p, "/"), "/") }

// at is a path of the API.
func (v *view) at(more ...string) []string { return append(segments(v.head.API), more...) }

// inLog is a path of the log.
func (v *view) inLog(more ...string) []string { return append(segments(v.head.LogPath), more...) }

// checkpoint verifies a checkpoint that an answer has: signed by the known key, and grown from the known
// state. If it does not hold, both states are kept as evidence.
func (c *Client) checkpoint(ctx context.Context, v *view, operation, signed string, growth []tlog.Hash) (tlog.Checkpoint, error) {
	shows, err := c.open(ctx, v, operation, signed)
	if err != nil {
		if e, ok := errors.AsType[*Error](err); ok {
			return shows, e
		}
		if names := signersOf(signed); names != "" {
			err = fmt.Errorf("%w; it is signed by %s, and the known key is %s", err, names, v.head.Key)
		}
		return shows, c.contradiction(ctx, v, operation, signed, err)
	}
	if v.stored.Checkpoint != "" {
		if err := tlog.CheckGrowth(growth, v.known, shows); err != nil {
			return shows, c.contradiction(ctx, v, operation, signed, err)
		}
	}
	return shows, c.checkWitnesses(operation, signed, shows)
}

// signersOf lists the names and hashes of the keys that a note claims to be signed by.
func signersOf(signed string) string {
	var names []string
	for line := range strings.Lines(signed) {
		if words := strings.Fields(line); len(words) == 3 && words[0] == "—" && len(names) < 3 {
			names = append(names, wording.Quote(words[1]))
		}
	}
	return wording.And(names)
}

// maxKept is how much of a checkpoint is kept as evidence.
const maxKept = 64 << 10

// contradiction keeps what a registry has shown, and says so.
func (c *Client) contradiction(ctx context.Context, v *view, operation, signed string, err error) *Error {
	e := c.fail(Unverified, operation, err)
	if signed == "" || len(signed) > maxKept {
		return e
	}
	evidence, keepErr := c.log.Keep(ctx, trust.Evidence{
		Time: c.options.Clock().UTC(), Reason: err.Error(), Key: v.head.Key, Known: v.stored.Checkpoint, Shown: signed,
	})
	if keepErr != nil {
		e.Err = errors.Join(err, fmt.Errorf("the evidence cannot be kept: %w", keepErr))
		return e
	}
	e.Evidence = evidence
	return e
}

// commit stores what an answer has proved.
func (c *Client) commit(ctx context.Context, v *view, operation, signed string, more trust.Commit) error {
	more.From, more.To = v.stored, v.head
	more.To.Checkpoint = signed
	if v.original {
		more.To = v.stored
	}
	err := c.log.Commit(ctx, more)
	if err != nil && !errors.Is(err, trust.ErrMoved) {
		return c.fail(Storage, operation, err)
	}
	if err == nil && !v.original && !v.stored.Known() && c.options.LogKey == "" {
		c.options.Log.Info("the log key of the registry was seen for the first time, and is trusted from now on", "registry", c.base.String(), "key", v.head.Key)
	}
	return err
}
