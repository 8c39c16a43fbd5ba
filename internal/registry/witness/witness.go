// Package witness is both sides of a witness, as tlog-witness of C2SP has them. A [Witness] cosigns the
// checkpoints of logs of others if they only grow, and keeps the last one of each. A [Pusher] sends the checkpoints
// of a registry to its witnesses, and stores their cosignatures.
//
// A registry that shows one history to some and another one to others needs a cosignature for both, and a witness
// signs one. Start reading at [Witness.ServeHTTP], then [Pusher.Run].
package witness

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"

	"github.com/go-json-experiment/json"
	"golang.org/x/mod/sumdb/note"

	"github.com/perstack-go/perstack/internal/filelock"
	"github.com/perstack-go/perstack/internal/opendir"
	"github.com/perstack-go/perstack/internal/privatefile"
	"github.com/perstack-go/perstack/internal/registry/tlog"
	"github.com/perstack-go/perstack/internal/userfile"
)

// Options are what a witness needs.
type Options struct {
	Dir      string // where it keeps what it has cosigned
	Cosigner *tlog.Cosigner
	Logs     []string // verifier keys; the name of each is the origin of its log
	Logger   *slog.Logger
}

// A Witness cosigns the checkpoints of logs.
type Witness struct {
	opts Options
	logs map[string][]note.Verifier // by origin
	lock *os.File

	mu   sync.Mutex
	seen map[string]tlog.Checkpoint // by origin
}

// The state that a witness keeps.
const (
	stateName    = "witness.json"
	stateVersion = 1
	maxState     = 4 << 20
)

type state struct {
	Version int                 `json:"version"`
	Logs    map[string]logState `json:"logs"` // by origin
}

type logState struct {
	Size int64  `json:"size"`
	Root []byte `json:"root"`
}

// Open returns a witness. One process at a time has its directory.
func Open(opts Options) (w *Witness, err error) {
	w = &Witness{opts: opts, logs: map[string][]note.Verifier{}, seen: map[string]tlog.Checkpoint{}}
	for _, key := range opts.Logs {
		v, err := note.NewVerifier(key)
		if err != nil {
			return nil, fmt.Errorf("%q is not the key of a log; it looks like name+hash+key", key)
		}
		w.logs[v.Name()] = append(w.logs[v.Name()], v)
	}
	dir, err := opendir.Open(opts.Dir)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	if w.lock, err = dir.Update("lock", 0o600); err != nil {
		return nil, err
	}
	if ok, err := filelock.Try(w.lock, true); err != nil || !ok {
		return nil, errors.Join(fmt.Errorf("another process is the witness in %s", opts.Dir), err, w.lock.Close())
	}
	if err := w.load(); err != nil {
		return nil, errors.Join(err, w.lock.Close())
	}
	return w, nil
}

// Close releases the directory.
func (w *Witness) Close() error { return w.lock.Close() }

func (w *Witness) load() error {
	path := filepath.Join(w.opts.Dir, stateName)
	data, err := userfile.ReadOwn(path, maxState)
	if userfile.Absent(err) {
		return nil
	}
	var s state
	if err == nil {
		err = json.Unmarshal(data, &s, json.RejectUnknownMembers(true))
	}
	if err == nil && s.Version != stateVersion {
		err = fmt.Errorf("it has version %d, and this program reads version %d", s.Version, stateVersion)
	}
	for origin, one := range s.Logs {
		if len(one.Root) != len(tlog.Hash{}) || one.Size < 0 {
			err = errors.Join(err, fmt.Errorf("the state of the log %q is damaged", origin))
			continue
		}
		w.seen[origin] = tlog.Checkpoint{Origin: origin, Size: one.Size, Hash: tlog.Hash(one.Root)}
	}
	if err != nil {
		// Without it the witness would cosign a second history.
		return fmt.Errorf("what the witness has cosigned cannot be read from %s: %w; restore the file, or retire the witness with its key", path, err)
	}
	return nil
}

// store keeps a checkpoint before it is cosigned.
func (w *Witness) store(at tlog.Checkpoint) error {
	s := state{stateVersion, map[string]logState{}}
	for origin, c := range w.seen {
		s.Logs[origin] = logState{c.Size, c.Hash[:]}
	}
	s.Logs[at.Origin] = logState{at.Size, at.Hash[:]}
	data, err := json.Marshal(s, json.Deterministic(true))
	if err == nil {
		err = privatefile.ReplaceDurable(filepath.Join(w.opts.Dir, stateName), append(data, '\n'))
	}
	if err == nil {
		err = syncDir(w.opts.Dir)
	}
	if err != nil {
		return fmt.Errorf("the checkpoint cannot be stored: %w", err)
	}
	w.seen[at.Origin] = at
	return nil
}

// syncDir makes the new name of a file durable.
func syncDir(path string) error {
	dir, err := opendir.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// addPath is where checkpoints are sent to.
const addPath = "/add-checkpoint"

// ServeHTTP answers requests to cosign.
func (w *Witness) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	out.Header().Set("X-Content-Type-Options", "nosniff")
	if r.URL.Path != addPath {
		http.NotFound(out, r)
		return
	}
	if r.Method != http.MethodPost {
		out.Header().Set("Allow", http.MethodPost)
		http.Error(out, "send a checkpoint with POST", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(out, r.Body, tlog.MaxAddition))
	if err != nil {
		http.Error(out, "the request is too large, or did not end", http.StatusBadRequest)
		return
	}
	line, refused := w.add(body)
	if refused == nil {
		out.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(out, line)
		return
	}
	log := w.opts.Logger.InfoContext
	if refused.shown != nil { // the log has signed it: this is evidence
		log = w.opts.Logger.ErrorContext
	}
	log(r.Context(), "not cosigned", "status", refused.status, "reason", refused.reason, "log", refused.origin, "size", refused.size, "shown", string(refused.shown))
	if refused.status == http.StatusConflict {
		out.Header().Set("Content-Type", tlog.SizeType)
		out.WriteHeader(refused.status)
		_, _ = fmt.Fprintf(out, "%d\n", refused.size)
		return
	}
	http.Error(out, refused.reason, refused.status)
}

// A refusal is why a checkpoint is not cosigned.
type refusal struct {
	status int
	reason string
	origin string
	size   int64  // that the witness has cosigned last
	shown  []byte // what the log has signed, and cannot be true
}

// add checks a checkpoint against the one before, stores it, and cosigns it. Nothing comes in between.
func (w *Witness) add(body []byte) (line string, refused *refusal) {
	a, err := tlog.ParseAddition(body)
	if err != nil {
		return "", &refusal{status: http.StatusBadRequest, reason: err.Error()}
	}
	origin := tlog.OriginOf(a.Signed)
	verifiers := w.logs[origin]
	if len(verifiers) == 0 {
		return "", &refusal{status: http.StatusNotFound, reason: "this witness does not know the log"}
	}
	at, _, err := tlog.OpenCheckpoint(a.Signed, origin, verifiers...)
	if err != nil {
		return "", &refusal{status: http.StatusForbidden, reason: err.Error(), origin: origin}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	last, ok := w.seen[origin]
	if !ok {
		root, err := tlog.Root(0, nil)
		if err != nil {
			return "", &refusal{status: http.StatusInternalServerError, reason: err.Error(), origin: origin}
		}
		last = tlog.Checkpoint{Origin: origin, Hash: root}
	}
	refuse := func(status int, reason string, shown []byte) (string, *refusal) {
		return "", &refusal{status, reason, origin, last.Size, shown}
	}
	switch {
	case a.Old > at.Size:
		return refuse(http.StatusBadRequest, "the old size is larger than the new one", nil)
	case a.Old != last.Size:
		return refuse(http.StatusConflict, "the last checkpoint that was cosigned has another size", nil)
	case at.Size == last.Size && at.Hash != last.Hash:
		return refuse(http.StatusConflict, fmt.Sprintf("the log shows two different histories of %d leaves; the other one has the hash %s", at.Size, base64.StdEncoding.EncodeToString(last.Hash[:])), a.Signed)
	case (a.Old == 0 || a.Old == at.Size) && len(a.Proof) > 0:
		return refuse(http.StatusUnprocessableEntity, "there is a proof where none is needed", nil)
	}
	if err := tlog.CheckGrowth(a.Proof, last, at); err != nil {
		return refuse(http.StatusUnprocessableEntity, err.Error(), a.Signed)
	}
	if !ok || at != last {
		if err := w.store(at); err != nil {
			return refuse(http.StatusInternalServerError, err.Error(), nil)
		}
	}
	if line, err = w.opts.Cosigner.Line(at); err != nil {
		return refuse(http.StatusInternalServerError, err.Error(), nil)
	}
	return line, nil
}
