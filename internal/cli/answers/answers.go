// Package answers hands the answer to an approval to the process that runs the job.
//
// Only that process can write to the journal of its job. So it listens on a socket in the state of
// the user, which no sandbox shows, and takes answers from processes of the same user. A program that
// a job started is refused where the system tells.
//
// Start reading at [Listen] and [Send].
package answers

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/engine"
)

const (
	dirName    = "answers"
	timeout    = 10 * time.Second
	maxMessage = 1 << 20
)

// A reply is what became of an answer.
type reply struct {
	Problem  string `json:"problem,omitzero"`  // why the answer does not count
	Stopping bool   `json:"stopping,omitzero"` // it can count when the job has stopped
	Error    string `json:"error,omitzero"`    // why it could not be recorded
}

// place returns the directory and the name of a job's socket. storage is the directory of its
// journal: two histories can have jobs of the same id.
func place(state, storage, jobID string) (dir, name string) {
	sum := sha256.Sum256([]byte(storage + "\x00" + jobID))
	return filepath.Join(state, dirName), hex.EncodeToString(sum[:8])
}

// Listen takes answers for a job until stop is called. state is the directory of the project in the
// user's state.
func Listen(state, storage, jobID string, inbox *engine.Inbox) (stop func(), err error) {
	return listen(state, storage, jobID, inbox, timeout)
}

// listen is Listen with clients that have so much time.
func listen(state, storage, jobID string, inbox *engine.Inbox, patience time.Duration) (stop func(), err error) {
	dir, name := place(state, storage, jobID)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	path, release, err := short(dir, name)
	if err != nil {
		return nil, err
	}
	defer release()
	// The job is locked, so a socket that is there was left by a process that is gone.
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	listener.SetUnlinkOnClose(false) // its name can be one that is valid here only
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	var all sync.WaitGroup
	over := make(chan struct{})
	all.Go(func() {
		for {
			conn, err := listener.AcceptUnix()
			if err != nil {
				return
			}
			all.Go(func() {
				if conn.SetDeadline(time.Now().Add(patience)) != nil {
					conn.Close()
					return
				}
				served := make(chan struct{})
				all.Go(func() { // a client that says nothing does not keep the job from ending
					select {
					case <-served:
					case <-over:
						_ = conn.SetReadDeadline(time.Now()) // it has ended already if this fails
					}
				})
				serve(conn, inbox)
				close(served)
			})
		}
	})
	return sync.OnceFunc(func() {
		listener.Close()
		os.Remove(filepath.Join(dir, name))
		close(over)
		all.Wait()
	}), nil
}

// serve takes one answer.
func serve(conn *net.UnixConn, inbox *engine.Inbox) {
	defer conn.Close()
	var r reply
	if err := checkPeer(conn); err != nil {
		r.Error = err.Error()
	} else {
		var answer engine.RunAnswer
		line, err := bufio.NewReader(io.LimitReader(conn, maxMessage)).ReadBytes('\n')
		if err == nil {
			err = json.Unmarshal(line, &answer)
		}
		if err == nil {
			err = inbox.Answer(answer)
		}
		if wrong, ok := errors.AsType[*engine.AnswerError](err); ok {
			r.Problem, r.Stopping = wrong.Problem, wrong.Stopping
		} else if err != nil {
			r.Error = err.Error()
		}
	}
	if data, err := json.Marshal(r); err == nil {
		_, _ = conn.Write(append(data, '\n')) // a client that has left learns it from the journal
	}
}

// ErrNotRunning says that no process takes answers for a job.
var ErrNotRunning = errors.New("no process takes answers for this job")

// Send hands an answer to the process that runs a job. An answer that does not count is an
// [*engine.AnswerError].
func Send(ctx context.Context, state, storage, jobID string, answer engine.RunAnswer) error {
	path, release, err := short(place(state, storage, jobID))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotRunning, err)
	}
	defer release()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotRunning, err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(timeout)); err != nil {
		return err
	}
	data, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	if _, err := conn.Write(append(data, '\n')); err != nil {
		return fmt.Errorf("hand over the answer: %w", err)
	}
	var r reply
	line, err := bufio.NewReader(io.LimitReader(conn, maxMessage)).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &r)
	}
	switch {
	case err != nil:
		return fmt.Errorf("hand over the answer: %w", err)
	case r.Problem != "":
		return &engine.AnswerError{ToolCallID: answer.ToolCallID, Problem: r.Problem, Stopping: r.Stopping}
	case r.Error != "":
		return errors.New(r.Error)
	}
	return nil
}
