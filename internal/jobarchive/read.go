package jobarchive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/restore"
	"github.com/perstack-go/perstack/internal/workspace/snapshot"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/file"
)

// Read unpacks an archive: the journal into a store, and the stored files into a directory. Both must
// be empty. What is there after an error is worth nothing.
func Read(ctx context.Context, r io.Reader, journals *file.Store, files string) (Manifest, error) {
	packed, err := gzip.NewReader(r)
	if err != nil {
		return Manifest{}, fmt.Errorf("it is not an archive of a job: %w", ended(err))
	}
	return readTar(ctx, packed, journals, files, standard())
}

// readTar is Read for an archive that is not compressed.
func readTar(ctx context.Context, r io.Reader, journals *file.Store, files string, most limits) (m Manifest, err error) {
	in := &reader{ctx: ctx, most: most.files, limit: &limitReader{r: r, left: most.bytes}}
	in.tar = tar.NewReader(in.limit)
	if m, err = in.manifest(); err != nil {
		return m, ended(err)
	}
	if err := in.journal(m, journals); err != nil {
		return m, ended(err)
	}
	trees, err := restore.Trees(ctx, journals, m.Job)
	if err != nil {
		return m, err
	}
	if err := in.blobs(m, trees, files); err != nil {
		return m, ended(err)
	}
	// The end of the compressed data has a checksum of all before it.
	if n, err := io.Copy(io.Discard, in.limit); err != nil || n > 0 {
		if err == nil {
			err = errors.New("something follows the end of the archive")
		}
		return m, ended(err)
	}
	return m, nil
}

// ended explains that an archive is incomplete.
func ended(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the archive is cut off")
	}
	return err
}

// A reader reads the entries of an archive in their order.
type reader struct {
	ctx   context.Context
	limit *limitReader
	tar   *tar.Reader
	files int
	most  int // files
}

// next returns the name and the size of the next entry; io.EOF after the last.
func (r *reader) next() (name string, size int64, err error) {
	if err := r.ctx.Err(); err != nil {
		return "", 0, err
	}
	header, err := r.tar.Next()
	if err != nil {
		return "", 0, err
	}
	if r.files++; r.files > r.most {
		return "", 0, errTooMany
	}
	// A sparse file is regular, too, and its size has nothing to do with what is in the archive.
	if header.Typeflag != tar.TypeReg || len(header.PAXRecords) > 0 || header.Format&tar.FormatGNU != 0 {
		return "", 0, fmt.Errorf("its entry %.100q is not an ordinary file", header.Name)
	}
	return header.Name, header.Size, nil
}

// expect reads the header of an entry that must come now.
func (r *reader) expect(name string) (size int64, err error) {
	found, size, err := r.next()
	if err == nil && found != name {
		err = fmt.Errorf("it has an entry %.100q where %s belongs", found, name)
	}
	return size, err
}

func (r *reader) manifest() (m Manifest, err error) {
	size, err := r.expect(manifestName)
	if err != nil {
		return m, err
	}
	if size > maxManifest {
		return m, fmt.Errorf("%s is larger than %d bytes", manifestName, maxManifest)
	}
	data, err := io.ReadAll(r.tar)
	if err != nil {
		return m, err
	}
	// A later version can have other members, so the version is read first.
	var about struct {
		Format  string `json:"format"`
		Version int    `json:"version"`
	}
	if err := json.Unmarshal(data, &about); err != nil || about.Format != format {
		return m, fmt.Errorf("%s does not describe a job", manifestName)
	}
	if about.Version != version {
		return m, fmt.Errorf("it has version %d of the format, and this version of perstack reads version %d", about.Version, version)
	}
	if err := json.Unmarshal(data, &m, json.RejectUnknownMembers(true)); err != nil {
		return m, fmt.Errorf("%s cannot be read", manifestName)
	}
	return m, store.CheckID(m.Job)
}

// journal unpacks the records and checks that they are what the manifest says.
func (r *reader) journal(m Manifest, journals *file.Store) error {
	size, err := r.expect(journalName)
	if err != nil {
		return err
	}
	if size != m.Journal.Size {
		return fmt.Errorf("%s has %d bytes, but the manifest says %d", journalName, size, m.Journal.Size)
	}
	sum := sha256.New()
	head, err := journals.Import(r.ctx, m.Job, io.TeeReader(r.tar, sum))
	switch {
	case err != nil:
		return err
	case hex.EncodeToString(sum.Sum(nil)) != m.Journal.SHA256:
		return fmt.Errorf("%s has another digest than the manifest says", journalName)
	case head != store.Head{Seq: m.Records, Digest: m.Head}:
		return fmt.Errorf("the last record of %s is not the one that the manifest names", journalName)
	}
	return nil
}

// blobs unpacks the stored files.
func (r *reader) blobs(m Manifest, trees []snapshot.ID, files string) (err error) {
	var stored *snapshot.Store // opened with the first blob
	var received *snapshot.Receiver
	defer func() {
		if stored != nil {
			received.Discard()
			stored.Close()
		}
	}()
	last, count := "", 0
	var content bytes.Buffer
	for {
		name, size, err := r.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		text, ok := strings.CutPrefix(name, blobDir)
		o, err := snapshot.ParseObject(text)
		switch {
		case !ok || err != nil:
			return fmt.Errorf("it has an entry %.100q, which does not belong to a job", name)
		case name <= last:
			return fmt.Errorf("its entry %.100q is not in order, or there twice", name)
		case size > snapshot.MaxObject:
			return fmt.Errorf("its entry %.100q is larger than %d bytes", name, snapshot.MaxObject)
		}
		last = name
		count++
		content.Reset()
		if _, err := io.Copy(&content, r.tar); err != nil {
			return err
		}
		if received == nil {
			if stored, err = snapshot.Open(r.ctx, files); err != nil {
				return err
			}
			received = stored.Receive()
		}
		if err := received.Add(o, content.Bytes()); err != nil {
			return err
		}
	}
	if count != m.Blobs {
		return fmt.Errorf("it has %d blobs, but the manifest says %d", count, m.Blobs)
	}
	if received == nil {
		return nil
	}
	return received.Commit(trees)
}

// A limitReader fails after so many bytes.
type limitReader struct {
	r    io.Reader
	left int64
}

func (l *limitReader) Read(data []byte) (int, error) {
	n, err := l.r.Read(data[:min(int64(len(data)), l.left+1)])
	if l.left -= int64(n); l.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}
