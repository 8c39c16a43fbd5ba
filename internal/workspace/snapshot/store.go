package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/perstack-go/perstack/internal/filelock"
	"github.com/perstack-go/perstack/internal/opendir"
)

// A Store holds the objects of a project. While it is open, no process removes objects from it.
// Its methods can be called at the same time.
type Store struct {
	packDir, indexDir opendir.Dir
	lock              *os.File
	decoder           func() (*zstd.Decoder, error)

	mu    sync.Mutex
	packs []*pack // those that were needed yet
	read  bool    // the packs were looked for
}

// ErrInUse says that another process uses the store.
var ErrInUse = errors.New("the stored files are in use by another job")

// Open opens the store in a directory, and makes it if needed. While another process removes
// objects, it waits, for a while.
func Open(ctx context.Context, dir string) (*Store, error) {
	s, err := openShared(ctx, dir)
	if err != nil {
		return nil, err
	}
	if names, err := s.packNames(); err != nil || len(names) <= maxPacks {
		return s, err
	}
	if err := errors.Join(s.Close(), mergePacks(dir)); err != nil {
		return nil, fmt.Errorf("merge the packs of the stored files: %w", err)
	}
	return openShared(ctx, dir)
}

const (
	patience = 30 * time.Second // for another process
	tryAgain = 20 * time.Millisecond
)

func openShared(ctx context.Context, dir string) (*Store, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	again := time.NewTicker(tryAgain)
	defer again.Stop()
	for {
		s, err := open(dir, false)
		if !errors.Is(err, ErrInUse) {
			return s, err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return nil, err
		}
	}
}

func open(dir string, exclusive bool) (s *Store, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("open the stored files: %w", err)
		}
	}()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	top, err := opendir.Open(dir)
	if err != nil {
		return nil, err
	}
	defer top.Close()
	lock, err := top.Update("lock", 0o600)
	if err != nil {
		return nil, err
	}
	s = &Store{lock: lock, decoder: newDecoder()}
	if locked, err := filelock.Try(lock, exclusive); !locked {
		return nil, errors.Join(cmp.Or(err, ErrInUse), lock.Close())
	}
	if s.packDir, err = makeDir(top, "packs"); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	if s.indexDir, err = makeDir(top, "index"); err != nil {
		return nil, errors.Join(err, s.packDir.Close(), lock.Close())
	}
	return s, nil
}

// makeDir opens a directory, and makes it if needed.
func makeDir(in opendir.Dir, name string) (opendir.Dir, error) {
	if err := in.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return opendir.Dir{}, err
	}
	return in.Sub(name)
}

// Close releases the store.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	for _, p := range s.packs {
		err = errors.Join(err, p.file.Close())
	}
	s.packs = nil
	return errors.Join(err, s.packDir.Close(), s.indexDir.Close(), s.lock.Close()) // the last releases the lock
}

// find returns the pack that has an object, and its position in it. Another process can have merged
// packs since they were looked for, so they are looked for once more.
func (s *Store) find(id ID) (*pack, int64, error) {
	for fresh := !s.read; ; fresh = true {
		if fresh {
			if err := s.openPacks(); err != nil {
				return nil, 0, err
			}
		}
		for _, p := range s.packs {
			if at := p.find(id); at >= 0 {
				return p, at, nil
			}
		}
		if fresh {
			return nil, 0, nil
		}
	}
}

// openPacks opens the packs that are not open yet.
func (s *Store) openPacks() error {
	names, err := s.packNames()
	for _, name := range names {
		if slices.ContainsFunc(s.packs, func(p *pack) bool { return p.name == name }) {
			continue
		}
		p, failed := openPack(s.packDir, name)
		switch {
		case failed == nil:
			s.packs = append(s.packs, p)
		case !errors.Is(failed, fs.ErrNotExist): // else it was merged meanwhile
			err = errors.Join(err, failed)
		}
	}
	s.read = err == nil
	return err
}

func (s *Store) packNames() ([]string, error) {
	names, err := s.packDir.Names()
	return slices.DeleteFunc(names, func(name string) bool { return !strings.HasSuffix(name, packSuffix) }), err
}

// has reports whether the store has an object. It does not look for packs of other processes: to
// store an object twice does no harm.
func (s *Store) has(id ID) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.read {
		if err := s.openPacks(); err != nil {
			return false, err
		}
	}
	return slices.ContainsFunc(s.packs, func(p *pack) bool { return p.find(id) >= 0 }), nil
}

// Has reports whether the store has a tree. Those that were not needed any more are removed.
func (s *Store) Has(tree ID) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, _, err := s.find(tree)
	return p != nil, err
}

// object returns the content of an object, checked against its id.
func (s *Store) object(k kind, id ID) ([]byte, error) {
	s.mu.Lock()
	p, at, err := s.find(id)
	s.mu.Unlock()
	if err == nil && p == nil {
		err = errors.New("the object is missing")
	}
	var content []byte
	if err == nil {
		content, err = s.readFrom(p, at, k, id)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s of the stored files: %w", id.String()[:12], err)
	}
	return content, nil
}

func (s *Store) readFrom(p *pack, at int64, k kind, id ID) ([]byte, error) {
	r, err := p.recordAt(at)
	if err != nil {
		return nil, err
	}
	content, err := s.decompress(r)
	if err == nil && (r.kind != k || identify(k, content) != id) {
		err = errDamaged
	}
	return content, err
}

// Tree returns the entries of a directory.
func (s *Store) Tree(id ID) ([]Entry, error) {
	content, err := s.object(treeKind, id)
	if err != nil {
		return nil, err
	}
	return decodeTree(content)
}

// Target returns the text of a link.
func (s *Store) Target(e Entry) (string, error) {
	content, err := s.object(blobKind, e.ID)
	return string(content), err
}

// Content hands over the content of a file, piece by piece.
func (s *Store) Content(e Entry, write func([]byte) error) error {
	if e.Flags&Chunked == 0 {
		content, err := s.object(blobKind, e.ID)
		if err == nil && int64(len(content)) != e.Size {
			err = errDamaged
		}
		if err != nil {
			return err
		}
		return write(content)
	}
	list, err := s.object(chunksKind, e.ID)
	if err != nil {
		return err
	}
	ids, err := decodeChunks(list)
	if err != nil || int64(len(ids)) != (e.Size+chunkSize-1)/chunkSize {
		return errDamaged
	}
	left := e.Size
	for _, id := range ids {
		size := min(left, chunkSize)
		content := make([]byte, size)
		if id != (ID{}) {
			if content, err = s.object(blobKind, id); err != nil {
				return err
			}
		}
		if int64(len(content)) != size {
			return errDamaged
		}
		if err := write(content); err != nil {
			return err
		}
		left -= size
	}
	return nil
}
