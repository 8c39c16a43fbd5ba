package base

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/sandbox/landlock"
	"github.com/perstack-go/perstack/internal/sandbox/policy"
	"github.com/perstack-go/perstack/internal/schema"
	"github.com/perstack-go/perstack/internal/workspace"
)

// The file tools work in this process, which has the rights of the user. Where commands have a
// sandbox, each call of a file tool runs on a thread that is restricted to the workspace: if the
// path checks of internal/workspace had a bug, the kernel would still refuse.

// parallelCalls is how many calls of file tools run in parallel; others wait.
const parallelCalls = 4

// workspaceThreads are threads with the rights of a sandbox to the workspace, and no others.
func workspaceThreads(w policy.Workspace) *landlock.Threads {
	part := &landlock.Policy{}
	switch w.Right {
	case "", expert.WorkspaceWrite:
		part.Write = []string{w.Path}
	case expert.WorkspaceRead:
		part.Read = []string{w.Path}
	default: // none, or an unknown right
	}
	return landlock.NewThreads(part, parallelCalls)
}

// answer answers a call, on a restricted thread.
func (s *Skill) answer(ctx context.Context, t *tool, args []byte) (a answer) {
	if t.restrictsItself {
		return t.call(ctx, s, args)
	}
	if err := s.onRestrictedThread(func() { a = t.call(ctx, s, args) }); err != nil {
		return refuse(codeIO, err.Error())
	}
	return a
}

// onRestrictedThread calls f on a restricted thread, if there are any. A panic of f is repeated in
// the caller, with the stack of the thread.
func (s *Skill) onRestrictedThread(f func()) error {
	if s.threads == nil {
		f()
		return nil
	}
	var broken any
	err := s.threads.Do(func() {
		defer func() {
			if p := recover(); p != nil {
				broken = fmt.Sprintf("%v\n%s", p, debug.Stack())
			}
		}()
		f()
	})
	if broken != nil {
		panic(broken)
	}
	return err
}

// startIn opens the directory in which a command starts. Outside of the workspace it is not
// opened.
func (s *Skill) startIn(ctx context.Context, cwd string) (dir *workspace.Dir, err error) {
	if s.threads != nil {
		s.threads.Start() // before the command does anything
	}
	if s.opts.Home != "" {
		if cwd != "." {
			return nil, &schema.Error{Field: "cwd", Problem: "cannot be chosen: commands have no right to the workspace, and start in a directory of their own"}
		}
		return &workspace.Dir{Path: s.opts.Home}, nil
	}
	if failed := s.onRestrictedThread(func() { dir, err = s.opts.Workspace.OpenDir(ctx, cwd) }); failed != nil {
		return nil, failed
	}
	return dir, err
}
