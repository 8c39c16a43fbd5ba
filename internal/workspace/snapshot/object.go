package snapshot

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
)

// An ID names an object by its kind and content.
type ID [sha256.Size]byte

// String returns the ID in hexadecimal.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

// ParseID reads what String returns.
func ParseID(text string) (id ID, err error) {
	if len(text) != hex.EncodedLen(len(id)) {
		return ID{}, fmt.Errorf("%q is not the id of a snapshot", text)
	}
	if _, err := hex.Decode(id[:], []byte(text)); err != nil {
		return ID{}, fmt.Errorf("%q is not the id of a snapshot", text)
	}
	return id, nil
}

// A kind says what an object is.
type kind byte

const (
	blobKind   kind = 'b' // the content of a file, or the text of a link
	chunksKind kind = 'c' // the ids of the blobs that a large file consists of
	treeKind   kind = 't' // the entries of a directory
)

func identify(k kind, content []byte) (id ID) {
	h := sha256.New()
	h.Write([]byte{byte(k)})
	h.Write(content)
	h.Sum(id[:0])
	return id
}

const (
	chunkSize = 1 << 20
	// maxWhole is the size up to which a file is one blob.
	maxWhole = 4 << 20
	// maxObject bounds what a reader allocates for one object. A directory with as many entries as
	// a snapshot can have is smaller.
	maxObject = 64 << 20
)

var errDamaged = errors.New("the object is damaged")

// A chunked file is a list of blobs of chunkSize bytes; the last can be shorter. The zero ID names
// a chunk of zeros, which is not stored.
func encodeChunks(ids []ID) []byte {
	data := make([]byte, 0, len(ids)*sha256.Size)
	for _, id := range ids {
		data = append(data, id[:]...)
	}
	return data
}

func decodeChunks(data []byte) ([]ID, error) {
	if len(data)%sha256.Size != 0 {
		return nil, errDamaged
	}
	ids := make([]ID, len(data)/sha256.Size)
	for i := range ids {
		copy(ids[i][:], data[i*sha256.Size:])
	}
	return ids, nil
}

// encodeTree writes entries in the order of their names. For each: kind, flags, mode, size, name,
// and the ID if it has one.
func encodeTree(entries []Entry) []byte {
	var data []byte
	for i := range entries {
		data = entries[i].append(data)
	}
	return data
}

func (e *Entry) append(data []byte) []byte {
	data = append(data, byte(e.Kind), byte(e.Flags))
	data = binary.AppendUvarint(data, uint64(e.Mode))
	data = binary.AppendUvarint(data, uint64(e.Size))
	data = binary.AppendUvarint(data, uint64(len(e.Name)))
	data = append(data, e.Name...)
	if e.Captured() {
		data = append(data, e.ID[:]...)
	}
	return data
}

// decodeTree reads what encodeTree writes, and nothing else: one tree has one encoding.
func decodeTree(data []byte) ([]Entry, error) {
	r := decoder{rest: data}
	var entries []Entry
	for len(r.rest) > 0 {
		e, ok := r.entry()
		if !ok || len(entries) > 0 && entries[len(entries)-1].Name >= e.Name {
			return nil, errDamaged
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// A decoder reads numbers and bytes. After the first failure it only fails.
type decoder struct {
	rest   []byte
	failed bool
}

func (r *decoder) bytes(n uint64) []byte {
	if r.failed || n > uint64(len(r.rest)) {
		r.failed = true
		return nil
	}
	data := r.rest[:n]
	r.rest = r.rest[n:]
	return data
}

func (r *decoder) byte() byte {
	if b := r.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

// number reads a number in its shortest form.
func (r *decoder) number() uint64 {
	v, n := binary.Uvarint(r.rest)
	if r.failed || n <= 0 || n > 1 && r.rest[n-1] == 0 {
		r.failed = true
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *decoder) entry() (e Entry, ok bool) {
	e.Kind, e.Flags = Kind(r.byte()), Flags(r.byte())
	mode, size := r.number(), r.number()
	e.Name = string(r.bytes(r.number()))
	e.Mode, e.Size = uint16(mode), int64(size)
	if e.Captured() {
		copy(e.ID[:], r.bytes(uint64(len(e.ID))))
	}
	return e, !r.failed && e.valid() && mode <= 0o777 && size < 1<<62
}
