package base

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/perstack-go/perstack/internal/sandbox/landlock"
	"github.com/perstack-go/perstack/internal/schema"
	"github.com/perstack-go/perstack/internal/workspace"
)

// The file tools work in this process, which can reach what the user can. Where commands
// have a sandbox, each call of a file tool is made on a thread that is locked into the
// workspace: if the fence of internal/workspace had a hole, the kernel would still say no.

// parallelCalls is how many calls of file tools are made side by side; others wait. It is
// the number of threads that a skill in a sandbox has for itself.
const parallelCalls = 4

// workspaceThreads is the part of a sandbox that is the workspace, with the same right.
func workspaceThreads(c *landlock.Policy, dir string) *landlock.Threads {
	part := &landlock.Policy{}
	switch {
	case slices.Contains(c.Write, dir):
		part.Write = []string{dir}
	case slices.Contains(c.Read, dir):
		part.Read = []string{dir}
	}
	return landlock.NewThreads(part, parallelCalls)
}

// answer answers a call, behind the fence.
func (s *Skill) answer(ctx context.Context, t *tool, args []byte) (a answer) {
	if t.restrictsItself {
		return t.call(ctx, s, args)
	}
	if err := s.onRestrictedThread(func() { a = t.call(ctx, s, args) }); err != nil {
		return refuse(codeIO, err.Error())
	}
	return a
}

// onRestrictedThread calls f on a thread that is locked in, if there is a fence. A panic of f is
// one of the caller's, who may be prepared for it, and tells where f was: that thread is
// another one.
func (s *Skill) onRestrictedThread(f func()) error {
	if s.threads == nil {
		f()
		return nil
	}
	var broken any
	err := s.threads.Do(func() {
		defer func() {
			if p := recover(); p != nil {
				broken = fmt.Sprintf("%v\n%s", p, debug.Stack()) // the stack is gone with the thread
			}
		}()
		f()
	})
	if broken != nil {
		panic(broken)
	}
	return err
}

// A place is where a command starts.
type place struct {
	path string
	open *workspace.Dir // nil for a directory of the command's own
}

func (p place) close() {
	if p.open != nil {
		p.open.Close()
	}
}

// startIn opens the directory in which a command starts.
func (s *Skill) startIn(ctx context.Context, cwd string) (p place, err error) {
	if s.opts.Home != "" {
		if cwd != "." {
			return p, &schema.Error{Field: "cwd", Problem: "cannot be chosen: commands have no right to the workspace, and start in a directory of their own"}
		}
		return place{path: s.opts.Home}, nil
	}
	failed := s.onRestrictedThread(func() {
		if p.open, err = s.opts.Workspace.OpenDir(ctx, cwd); err == nil {
			p.path = p.open.Path()
		}
	})
	if failed != nil {
		return p, failed
	}
	return p, err
}
