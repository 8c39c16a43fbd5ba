package file

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/store"
)

// A position is an offset in a journal, with the fold of the records before it.
type position struct {
	head   store.Head
	length int64 // bytes before it
	job    event.Job
	// project sealed the last record before it. A position from job.json has none, which
	// only readers use.
	project string
}

// A summary is the content of job.json. All of it can be derived from the journal.
type summary struct {
	Job  event.Job `json:",embed"`
	Head struct {
		Seq    int64        `json:"seq"`
		Digest store.Digest `json:"digest"`
		Length int64        `json:"length"`
	} `json:"head"`
}

// maxSummary is far more than a summary needs.
const maxSummary = 1 << 20

// readSummary returns what job.json says. A missing or an invalid file gives the position
// before the first record; an invalid one also gives an error.
func readSummary(dir *os.Root, jobID string) (position, error) {
	f, err := openRegular(dir, summaryName)
	if errors.Is(err, fs.ErrNotExist) {
		return position{}, nil
	}
	if err != nil {
		return position{}, err
	}
	defer f.Close()
	var s summary
	if err := json.UnmarshalRead(io.LimitReader(f, maxSummary), &s); err != nil {
		return position{}, fmt.Errorf("read %s: %w", f.Name(), err)
	}
	if s.Job.ID != jobID || s.Head.Seq < 1 || s.Head.Length < 1 {
		return position{}, fmt.Errorf("read %s: it is not the summary of job %s", f.Name(), jobID)
	}
	return position{head: store.Head{Seq: s.Head.Seq, Digest: s.Head.Digest}, length: s.Head.Length, job: s.Job}, nil
}

// writeSummary writes p to job.json.
func (d disk) writeSummary(dir *os.Root, p position) error {
	s := summary{Job: p.job}
	s.Head.Seq, s.Head.Digest, s.Head.Length = p.head.Seq, p.head.Digest, p.length
	data, err := json.Marshal(s, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	return d.replace(dir, summaryName, bytes.NewReader(append(data, '\n')), false)
}

// replace writes a file so that a reader sees the old content or the new one, with durable
// also after a power cut. The directory is not synced: the older file is valid too. Only
// the owner of the lock may call it.
func (d disk) replace(dir *os.Root, name string, content io.Reader, durable bool) error {
	return d.replaceBy(dir, name+".tmp", name, content, durable)
}

// replaceBy is [disk.replace] with a temporary file that no other process uses.
func (d disk) replaceBy(dir *os.Root, temp, name string, content io.Reader, durable bool) error {
	as := name + ".tmp" // for the hook; the real name may differ each time
	create := func() (*os.File, error) { return d.create(dir, temp, as, os.O_WRONLY|os.O_CREATE|os.O_EXCL) }
	f, err := create()
	if errors.Is(err, fs.ErrExist) { // left by a crash
		if err = d.remove(dir, temp, as); err == nil {
			f, err = create()
		}
	}
	if err != nil {
		return err
	}
	_, err = io.Copy(&hookedWriter{d, f, path.Base(as)}, content)
	if err == nil {
		err = d.keepPrivate(f, true)
	}
	if err == nil && durable {
		err = d.sync(f)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = d.do(OpRename, name, func() error { return dir.Rename(temp, name) })
	}
	if err != nil {
		_ = d.remove(dir, temp, as) // best effort: a leftover does no harm
	}
	return err
}
