// Package jobarchive writes a job with its stored files to one file, and reads it again.
//
// An archive is a compressed tar file with these entries, in this order:
//
//	manifest.json        which job it is, and the digests of what follows
//	journal.jsonl        the records, as they are in the history
//	blobs/<object>       the parts of the stored states of the workspace, sorted by name
//
// The same job always has the same bytes: no entry has an owner or a time. The contents of env files
// are left out. An archive can come from anyone, so [Read] believes nothing that it says: it checks
// names, sizes, digests and the chain, and writes only to a directory that the caller throws away if
// it fails.
//
// Start reading at [Write].
package jobarchive

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/restore"
	"github.com/perstack-go/perstack/internal/workspace/snapshot"
	"github.com/perstack-go/perstack/store"
)

// The limits of an archive. They hold for writing too, so that what was written can be read.
const (
	MaxBytes = 1 << 30 // unpacked, with the headers of entries
	MaxFiles = 100_000
)

// limits are those of one archive. Tests have smaller ones.
type limits struct {
	bytes int64
	files int
}

func standard() limits { return limits{MaxBytes, MaxFiles} }

const (
	format       = "perstack job"
	version      = 1
	manifestName = "manifest.json"
	journalName  = "journal.jsonl"
	blobDir      = "blobs/"
	maxManifest  = 64 << 10
)

// A Manifest is the first entry of an archive.
type Manifest struct {
	Format  string       `json:"format"`
	Version int          `json:"version"`
	Job     string       `json:"job"`
	Records int64        `json:"records"`
	Head    store.Digest `json:"head"`    // of the last record
	Journal Content      `json:"journal"` // of journal.jsonl
	Blobs   int          `json:"blobs"`
}

// Content is the size and the digest of an entry.
type Content struct {
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// A LimitError says that an archive is, or would be, larger than it may be.
type LimitError struct{ What string }

func (e *LimitError) Error() string {
	return fmt.Sprintf("it has more than %s, the limit of an archive", e.What)
}

var (
	errTooLarge = &LimitError{"1 GiB of data"}
	errTooMany  = &LimitError{"100,000 files"}
)

// Write writes a job to w. files is the directory of the stored files. The job must not be running.
func Write(ctx context.Context, w io.Writer, journals store.Store, files, jobID string) (Manifest, error) {
	return write(ctx, w, journals, files, jobID, standard())
}

func write(ctx context.Context, w io.Writer, journals store.Store, files, jobID string, most limits) (m Manifest, err error) {
	if m, err = describe(ctx, journals, jobID); err != nil {
		return m, err
	}
	trees, err := restore.Trees(ctx, journals, jobID)
	if err != nil {
		return m, err
	}
	var stored *snapshot.Store
	var objects []snapshot.Object
	if _, missing := os.Stat(files); !errors.Is(missing, fs.ErrNotExist) && len(trees) > 0 {
		if stored, err = snapshot.Open(ctx, files); err != nil {
			return m, err
		}
		defer func() { err = errors.Join(err, stored.Close()) }()
		if objects, err = stored.Objects(trees); err != nil {
			return m, err
		}
	}
	if m.Blobs = len(objects); m.Blobs+2 > most.files {
		return m, errTooMany
	}
	packed := gzip.NewWriter(w)
	out := &writer{ctx: ctx, limit: &limitWriter{w: packed, left: most.bytes}}
	out.tar = tar.NewWriter(out.limit)
	manifest, err := json.Marshal(m, jsontext.WithIndent("  "))
	if err != nil {
		return m, err
	}
	out.add(manifestName, append(manifest, '\n'))
	out.journal(m, journals)
	for _, o := range objects {
		if out.err == nil {
			content, err := stored.Read(o)
			out.err = err
			out.add(blobDir+o.Name(), content)
		}
	}
	if out.err == nil {
		out.err = out.tar.Close()
	}
	return m, errors.Join(out.err, packed.Close())
}

// describe reads a journal for its manifest.
func describe(ctx context.Context, journals store.Store, jobID string) (Manifest, error) {
	m := Manifest{Format: format, Version: version, Job: jobID}
	sum := sha256.New()
	for r, err := range journals.Read(ctx, jobID, 0) {
		if errors.Is(err, event.ErrUnknownType) {
			return m, fmt.Errorf("job %s: %w", jobID, err) // only a newer version could import it
		}
		if err != nil {
			return m, err
		}
		m.Journal.Size += int64(len(r.Line)) + 1
		sum.Write(r.Line)
		sum.Write([]byte{'\n'})
		m.Records, m.Head = r.Seq, r.Digest()
	}
	if m.Records == 0 {
		return m, store.NotFound(jobID)
	}
	m.Journal.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return m, nil
}

// A writer writes the entries of an archive. After the first error it does nothing.
type writer struct {
	ctx   context.Context
	limit *limitWriter
	tar   *tar.Writer
	err   error
}

func (w *writer) begin(name string, size int64) {
	if w.err == nil {
		w.err = w.ctx.Err()
	}
	if w.err == nil {
		w.err = w.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600, Format: tar.FormatUSTAR})
	}
}

func (w *writer) add(name string, content []byte) {
	w.begin(name, int64(len(content)))
	if w.err == nil {
		_, w.err = w.tar.Write(content)
	}
}

// journal writes the records that the manifest describes.
func (w *writer) journal(m Manifest, journals store.Store) {
	w.begin(journalName, m.Journal.Size)
	left := m.Records
	for r, err := range journals.Read(w.ctx, m.Job, 0) {
		if w.err == nil {
			w.err = err
		}
		if w.err == nil {
			_, w.err = w.tar.Write(append(r.Line, '\n'))
		}
		if left--; w.err != nil || left == 0 {
			break
		}
	}
	if w.err == nil && left > 0 {
		w.err = errors.New("the journal became shorter while it was read")
	}
}

// A limitWriter fails after so many bytes.
type limitWriter struct {
	w    io.Writer
	left int64
}

func (l *limitWriter) Write(data []byte) (int, error) {
	if l.left -= int64(len(data)); l.left < 0 {
		return 0, errTooLarge
	}
	return l.w.Write(data)
}
