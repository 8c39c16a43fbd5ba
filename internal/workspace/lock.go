package workspace

import (
	"context"
	"slices"
	"strings"
	"sync"
)

// turns are locks that make calls which change the same file wait for each other: the
// calls of one step run in parallel, and an edit that begins before another has ended would
// undo it.
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
type turns struct {
	mu     sync.Mutex
	places map[string]*turn
	tree   chan struct{} // holds one token for each call that changes something
	whole  chan struct{} // holds a token while a call collects the tokens of the tree
}

type turn struct {
	taken chan struct{} // holds a token while a call has the lock
	users int           // calls that have it or wait for it
}

// maxChanges bounds the calls that change something at one time.
const maxChanges = 64

func newTurns() *turns {
	return &turns{places: make(map[string]*turn), tree: make(chan struct{}, maxChanges), whole: make(chan struct{}, 1)}
}

// share begins a change of single files. It must come before the walk: the location that
// the walk finds must not move until the change is made.
func (t *turns) share(ctx context.Context) (done func(), err error) {
	if err := take(ctx, t.tree); err != nil {
		return nil, err
	}
	return func() { <-t.tree }, nil
}

// alone begins a change of a whole directory. It collects all tokens of the tree, and keeps
// each that it gets, so that later calls cannot starve it.
func (t *turns) alone(ctx context.Context) (done func(), err error) {
	if err := take(ctx, t.whole); err != nil { // two that collect would wait for each other
		return nil, err
	}
	got := 0
	done = func() {
		for range got {
			<-t.tree
		}
		<-t.whole
	}
	for range maxChanges {
		if err := take(ctx, t.tree); err != nil {
			done()
			return nil, err
		}
		got++
	}
	return done, nil
}

// claim takes the locks of the paths. All calls take them in the same order, so that there
// is no deadlock.
func (t *turns) claim(ctx context.Context, paths ...[]string) (done func(), err error) {
	keys := make([]string, len(paths))
	for i, path := range paths {
		keys[i] = strings.Join(foldAll(path), "/")
	}
	slices.Sort(keys)
	var got []string
	done = func() {
		for _, key := range got {
			t.leave(key, true)
		}
	}
	for _, key := range slices.Compact(keys) {
		turn := t.enter(key)
		if err := take(ctx, turn.taken); err != nil {
			t.leave(key, false)
			done()
			return nil, err
		}
		got = append(got, key)
	}
	return done, nil
}

func (t *turns) enter(key string) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.places[key] == nil {
		t.places[key] = &turn{taken: make(chan struct{}, 1)}
	}
	t.places[key].users++
	return t.places[key]
}

func (t *turns) leave(key string, had bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	turn := t.places[key]
	if had {
		<-turn.taken
	}
	if turn.users--; turn.users == 0 {
		delete(t.places, key)
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
