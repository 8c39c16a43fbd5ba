package snapshot

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"

	"github.com/perstack-go/perstack/internal/opendir"
)

// The index of a workspace is what was seen of it last, with the stamps of its files. It is a cache:
// without it, or with one that is damaged, all files are read again.
//
// It begins with indexMagic. The nodes follow, each directory before its content, and a checksum.

const (
	indexMagic = "perstack index 1\n"
	maxIndex   = 1 << 30
	maxLevels  = 1000
	minNode    = 2 + 1 + 1 + 1 + 1 + 32 // what a node takes at least
)

func (t *Taker) indexName() string {
	sum := sha256.Sum256([]byte(t.dir))
	return hex.EncodeToString(sum[:16])
}

func (t *Taker) load() error {
	data, err := t.readIndex()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	t.loaded = true
	root, ok := decodeIndex(data)
	if !ok {
		return nil
	}
	// Objects are removed together with the indexes that name them. This notices a store that was
	// emptied by other means.
	has, err := t.store.has(root.entry.ID)
	if has {
		t.last = root
	}
	return err
}

func (t *Taker) readIndex() ([]byte, error) {
	f, err := t.store.indexDir.Read(t.indexName())
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxIndex))
}

// save writes the index, if it says something new. It need not survive a power cut.
func (t *Taker) save() error {
	if !t.unsaved {
		return nil
	}
	t.unsaved = false
	dir := t.store.indexDir
	f, err := dir.Create(rand.Text()+unfinishedSuffix, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(encodeIndex(t.last))
	if err = errors.Join(err, f.Close()); err == nil {
		err = dir.MoveTo(dir, f.Name(), t.indexName())
	}
	if err != nil {
		return errors.Join(err, dir.Remove(f.Name()))
	}
	return nil
}

func encodeIndex(root *node) []byte {
	data := root.append([]byte(indexMagic))
	sum := sha256.Sum256(data)
	return append(data, sum[:]...)
}

func (n *node) append(data []byte) []byte {
	data = n.entry.append(data)
	stamp := n.stamp
	if n.unsure {
		stamp = opendir.Stamp{}
	}
	for _, v := range []uint64{stamp.Device, stamp.Inode, uint64(stamp.Modified), uint64(stamp.Changed)} {
		data = binary.BigEndian.AppendUint64(data, v)
	}
	if n.entry.Kind != Directory {
		return data
	}
	data = binary.AppendUvarint(data, uint64(len(n.children)))
	for i := range n.children {
		data = n.children[i].append(data)
	}
	return data
}

func decodeIndex(data []byte) (*node, bool) {
	size := len(data) - sha256.Size
	if size < 0 || !bytes.HasPrefix(data, []byte(indexMagic)) {
		return nil, false
	}
	if sum := sha256.Sum256(data[:size]); !bytes.Equal(sum[:], data[size:]) {
		return nil, false
	}
	r := decoder{rest: data[len(indexMagic):size]}
	var root node
	root.read(&r, 0)
	return &root, !r.failed && len(r.rest) == 0 && root.entry.Kind == Directory
}

func (n *node) read(r *decoder, level int) {
	var ok bool
	if n.entry, ok = r.entry(); !ok && level > 0 || level > maxLevels { // only the root has no name
		r.failed = true
		return
	}
	stamp := r.bytes(32)
	if r.failed {
		return
	}
	n.stamp = opendir.Stamp{
		Device: binary.BigEndian.Uint64(stamp), Inode: binary.BigEndian.Uint64(stamp[8:]),
		Modified: int64(binary.BigEndian.Uint64(stamp[16:])), Changed: int64(binary.BigEndian.Uint64(stamp[24:])),
	}
	n.unsure = n.stamp == opendir.Stamp{}
	if n.entry.Kind != Directory {
		return
	}
	count := r.number()
	if count > uint64(len(r.rest))/minNode {
		r.failed = true
		return
	}
	n.children = make([]node, count)
	for i := range n.children {
		if n.children[i].read(r, level+1); r.failed {
			return
		}
	}
}
