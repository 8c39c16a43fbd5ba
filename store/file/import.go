package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/perstack-go/perstack/store"
)

// Import writes a job whose records come from elsewhere, as the lines of a journal, and returns its
// last record. The lines are written as they are. They must be a whole chain, of events that this
// version knows. The recorded head gets no seal: where the records come from is not known, so the job is continued only by a user who trusts
// it. The job must not exist. If Import fails, it leaves a part of the job.
func (s *Store) Import(ctx context.Context, jobID string, lines io.Reader) (store.Head, error) {
	if err := store.CheckID(jobID); err != nil {
		return store.Head{}, err
	}
	dir, parents, err := s.makeJob(jobID)
	if err != nil {
		return store.Head{}, err
	}
	defer dir.Close()
	f, err := s.disk.openFile(dir, journalName, os.O_RDWR|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return store.Head{}, err
	}
	defer f.Close()
	if _, err := io.Copy(&hookedWriter{s.disk, f, journalName}, lines); err != nil {
		return store.Head{}, err
	}
	j := &journal{id: jobID, dir: dir, disk: s.disk}
	if j.now.head, j.now.length, err = checkAll(ctx, f, jobID); err != nil {
		return store.Head{}, err
	}
	line, err := j.headLine(j.now)
	if err != nil {
		return store.Head{}, err
	}
	head, err := s.disk.create(dir, headName, headName, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return store.Head{}, err
	}
	_, err = (&hookedWriter{s.disk, head, headName}).Write(line)
	err = errors.Join(err, s.disk.keepPrivate(head, true), s.disk.sync(head), head.Close(), s.disk.sync(f))
	for _, parent := range parents {
		if failed := s.disk.syncDir(parent); failed != nil && !errors.Is(failed, os.ErrPermission) {
			err = errors.Join(err, failed)
		}
	}
	return j.now.head, err
}

// checkAll reads a whole journal and returns its end. It has at least one record, and nothing follows
// the last.
func checkAll(ctx context.Context, f *os.File, jobID string) (store.Head, int64, error) {
	r := reader{f: f, chain: store.Chain{JobID: jobID}, fleeting: true}
	for {
		if err := ctx.Err(); err != nil {
			return store.Head{}, 0, fmt.Errorf("check job %s: %w", jobID, err)
		}
		_, err := r.next(0)
		switch {
		case errors.Is(err, io.EOF) && r.torn > 0:
			return store.Head{}, 0, r.chain.Damage("it is cut off")
		case errors.Is(err, io.EOF) && r.chain.Head.Seq == 0:
			return store.Head{}, 0, r.chain.Damage("there is none")
		case errors.Is(err, io.EOF):
			return r.chain.Head, r.end, nil
		case err != nil: // including an event that only a newer version knows
			return store.Head{}, 0, err
		}
	}
}
