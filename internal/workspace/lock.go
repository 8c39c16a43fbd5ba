package workspace

import (
	"context"
	"slices"
	"strings"
	"sync"
)

// locks make calls that change the same file wait for each other: the calls of one step run
// in parallel, and an edit that begins before another has ended would undo it.
//
// A lock is for a path below the root, after links were resolved. Two hard links of one
// file are two paths, and need no common lock: every change through one of them leaves the
// other as it was. Spellings that some file system treats as one name share a lock, which
// costs a wait at worst.
//
// Moving a directory changes the paths of its files. So a call that moves or empties a
// directory locks the whole tree.
//
// A call waits no longer than its context allows, and a lock is removed when no call uses it.
type locks struct {
	mu    sync.Mutex
	paths map[string]*pathLock
	tree  chan struct{} // holds one token for each call that changes something
	whole chan struct{} // holds a token while a call collects the tokens of the tree
}

type pathLock struct {
	taken chan struct{} // holds a token while a call has the lock
	users int           // calls that have it or wait for it
}

// maxChanges bounds the calls that change something at one time.
const maxChanges = 64

func newLocks() *locks {
	return &locks{paths: make(map[string]*pathLock), tree: make(chan struct{}, maxChanges), whole: make(chan struct{}, 1)}
}

// begin begins a change: of single files, or of a whole directory. It must come before the
// walk: the location that the walk finds must not move until the change is made.
//
// A change of a directory collects all tokens of the tree, and keeps each that it gets, so
// that later calls cannot starve it.
func (w *Workspace) begin(ctx context.Context, given string, whole bool) (done func(), err error) {
	var taken []chan struct{}
	done = func() {
		for _, tokens := range slices.Backward(taken) {
			<-tokens
		}
	}
	wanted := []chan struct{}{w.locks.tree}
	if whole {
		// Two that collect would wait for each other, so the first token is that of "whole".
		wanted = append([]chan struct{}{w.locks.whole}, slices.Repeat(wanted, maxChanges)...)
	}
	for _, tokens := range wanted {
		if err := take(ctx, tokens); err != nil {
			done()
			return nil, interrupted(given, err)
		}
		taken = append(taken, tokens)
	}
	return done, nil
}

// locked locks the location and the paths, and calls do. It looks at the name again before:
// the call that had the lock before has probably replaced the file.
func (p *location) locked(ctx context.Context, do func() error, paths ...[]string) error {
	done, err := p.workspace.locks.claim(ctx, append(paths, p.path())...)
	if err != nil {
		return interrupted(p.given, err)
	}
	defer done()
	if err := p.look(); err != nil {
		return err
	}
	return do()
}

// claim takes the locks of the paths. All calls take them in the same order, so that there
// is no deadlock.
func (l *locks) claim(ctx context.Context, paths ...[]string) (done func(), err error) {
	keys := make([]string, len(paths))
	for i, path := range paths {
		keys[i] = lockKey(foldAll(path))
	}
	slices.Sort(keys)
	var got []string
	done = func() {
		for _, key := range got {
			l.leave(key, true)
		}
	}
	for _, key := range slices.Compact(keys) {
		lock := l.enter(key)
		if err := take(ctx, lock.taken); err != nil {
			l.leave(key, false)
			done()
			return nil, err
		}
		got = append(got, key)
	}
	return done, nil
}

// lockKey returns the lock of a path. The names that make a directory a repository share one:
// if two calls made the last two of them at the same time, neither would find the other.
func lockKey(folded []string) string {
	if last := len(folded) - 1; last >= 0 && isRepositoryName(folded[last]) {
		folded[last] = headName
	}
	return strings.Join(folded, "/")
}

func (l *locks) enter(key string) *pathLock {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.paths[key] == nil {
		l.paths[key] = &pathLock{taken: make(chan struct{}, 1)}
	}
	l.paths[key].users++
	return l.paths[key]
}

func (l *locks) leave(key string, had bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	lock := l.paths[key]
	if had {
		<-lock.taken
	}
	if lock.users--; lock.users == 0 {
		delete(l.paths, key)
	}
}

func take(ctx context.Context, tokens chan struct{}) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case tokens <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
