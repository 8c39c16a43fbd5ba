package snapshot

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sort"

	"github.com/perstack-go/perstack/internal/opendir"
)

// A pack is a file of objects, written once. It begins with packMagic. The records of the objects
// follow, then a table with the id and the position of each, sorted by id, and at the end the
// position of the table, the number of objects, and a checksum of the table and both numbers.
//
// A record is the kind, the codec, the size of the content, the size of what is stored, and that.

const (
	packMagic  = "perstack pack 1\n"
	packSuffix = ".pack"
	// unfinishedSuffix ends the name of a file that is being written, or was when the process died.
	unfinishedSuffix = ".tmp"
	tableRow         = sha256.Size + 8
	footerSize       = 8 + 8 + sha256.Size
	maxHeader        = 2 + 2*binary.MaxVarintLen64
)

// A packWriter writes a pack. Nothing can read it before it is committed.
type packWriter struct {
	dir    opendir.Dir
	codec  *compressor
	file   *os.File
	out    *bufio.Writer
	offset int64
	rows   map[ID]int64
	buffer []byte
}

// newPack begins a pack in the directory.
func newPack(dir opendir.Dir) (*packWriter, error) {
	f, err := dir.Create(rand.Text()+unfinishedSuffix, 0o600)
	if err != nil {
		return nil, err
	}
	w := &packWriter{dir: dir, codec: newCompressor(), file: f, out: bufio.NewWriterSize(f, 256<<10), rows: map[ID]int64{}}
	if err := w.write([]byte(packMagic)); err != nil {
		w.discard()
		return nil, err
	}
	return w, nil
}

func (w *packWriter) write(data []byte) error {
	n, err := w.out.Write(data)
	w.offset += int64(n)
	return err
}

func (w *packWriter) has(id ID) bool {
	_, ok := w.rows[id]
	return ok
}

// add writes an object that the pack does not have.
func (w *packWriter) add(k kind, id ID, content []byte) error {
	used, stored := w.codec.compress(content)
	return w.record(k, used, id, len(content), stored)
}

func (w *packWriter) record(k kind, used byte, id ID, size int, stored []byte) error {
	w.rows[id] = w.offset
	w.buffer = append(w.buffer[:0], byte(k), used)
	w.buffer = binary.AppendUvarint(w.buffer, uint64(size))
	w.buffer = binary.AppendUvarint(w.buffer, uint64(len(stored)))
	return errors.Join(w.write(w.buffer), w.write(stored))
}

// commit makes the pack durable, gives it its name, and returns that. Its content names it, so that
// writing the same pack twice changes nothing.
func (w *packWriter) commit() (name string, err error) {
	table := w.table()
	sum := sha256.Sum256(table)
	err = w.write(append(table, sum[:]...))
	if err == nil {
		err = w.out.Flush()
	}
	if err == nil {
		err = w.file.Sync()
	}
	err = errors.Join(err, w.file.Close())
	name = fmt.Sprintf("%x%s", sum[:16], packSuffix)
	if err == nil {
		err = w.dir.MoveTo(w.dir, w.file.Name(), name)
	}
	if err != nil {
		return "", errors.Join(err, w.dir.Remove(w.file.Name()))
	}
	return name, w.dir.Sync()
}

// table returns the table and the two numbers after it.
func (w *packWriter) table() []byte {
	ids := make([]ID, 0, len(w.rows))
	for id := range w.rows {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b ID) int { return bytes.Compare(a[:], b[:]) })
	table := make([]byte, 0, len(ids)*tableRow+footerSize)
	for _, id := range ids {
		table = append(table, id[:]...)
		table = binary.BigEndian.AppendUint64(table, uint64(w.rows[id]))
	}
	table = binary.BigEndian.AppendUint64(table, uint64(w.offset))
	return binary.BigEndian.AppendUint64(table, uint64(len(ids)))
}

// discard removes the unfinished pack.
func (w *packWriter) discard() {
	w.file.Close()
	_ = w.dir.Remove(w.file.Name()) // what stays is removed when the store is cleaned up
}

// A pack is open for reading.
type pack struct {
	name  string
	file  *os.File
	size  int64
	end   int64  // of the records
	table []byte // only its rows
}

// openPack opens a pack and checks its table. The content of an object is checked when it is read.
func openPack(dir opendir.Dir, name string) (*pack, error) {
	f, err := dir.Read(name)
	if err != nil {
		return nil, err
	}
	p := &pack{name: name, file: f}
	if err := p.load(); err != nil {
		f.Close()
		return nil, fmt.Errorf("pack %s of the stored files: %w", p.name, err)
	}
	return p, nil
}

func (p *pack) load() error {
	info, err := p.file.Stat()
	if err != nil {
		return err
	}
	p.size = info.Size()
	var magic [len(packMagic)]byte
	var footer [footerSize]byte
	if p.size < int64(len(magic)+len(footer)) {
		return errDamaged
	}
	if _, err := p.file.ReadAt(magic[:], 0); err != nil {
		return err
	}
	if _, err := p.file.ReadAt(footer[:], p.size-footerSize); err != nil {
		return err
	}
	end, count := binary.BigEndian.Uint64(footer[:]), binary.BigEndian.Uint64(footer[8:])
	rows := uint64(p.size) - footerSize
	if string(magic[:]) != packMagic || end < uint64(len(packMagic)) || end > rows || (rows-end)%tableRow != 0 || (rows-end)/tableRow != count {
		return errDamaged
	}
	p.end, p.table = int64(end), make([]byte, rows-end+16)
	if _, err := p.file.ReadAt(p.table, p.end); err != nil {
		return err
	}
	if sum := sha256.Sum256(p.table); !bytes.Equal(sum[:], footer[16:]) {
		return errDamaged
	}
	p.table = p.table[:rows-end]
	return nil
}

func (p *pack) count() int { return len(p.table) / tableRow }

func (p *pack) row(i int) (id ID, offset int64) {
	row := p.table[i*tableRow:]
	copy(id[:], row)
	return id, int64(binary.BigEndian.Uint64(row[sha256.Size:]))
}

// find returns the position of an object, or -1.
func (p *pack) find(id ID) int64 {
	n := p.count()
	i := sort.Search(n, func(i int) bool { return bytes.Compare(p.table[i*tableRow:i*tableRow+sha256.Size], id[:]) >= 0 })
	if i == n {
		return -1
	}
	found, offset := p.row(i)
	if found != id {
		return -1
	}
	return offset
}

// A record is an object as it is stored.
type record struct {
	kind   kind
	codec  byte
	size   int // of the content
	stored []byte
}

// recordAt reads the record at a position.
func (p *pack) recordAt(offset int64) (r record, err error) {
	if offset < int64(len(packMagic)) || offset >= p.end {
		return r, errDamaged
	}
	head := make([]byte, min(maxHeader, p.end-offset))
	if _, err := p.file.ReadAt(head, offset); err != nil {
		return r, err
	}
	d := decoder{rest: head}
	r.kind, r.codec = kind(d.byte()), d.byte()
	size, stored := d.number(), d.number()
	start := offset + int64(len(head)-len(d.rest))
	if d.failed || size > maxObject || stored > size || start+int64(stored) > p.end {
		return r, errDamaged
	}
	r.size, r.stored = int(size), make([]byte, stored)
	_, err = io.ReadFull(io.NewSectionReader(p.file, start, int64(stored)), r.stored)
	return r, err
}
