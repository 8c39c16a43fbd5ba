package tlog

import (
	"fmt"

	merkle "golang.org/x/mod/sumdb/tlog"
)

// A HashReader reads the hashes of a log, which the store of a registry keeps. Their numbers are those of
// [Append].
type HashReader = merkle.HashReader

// HashReaderFunc is a function that is a HashReader.
type HashReaderFunc = merkle.HashReaderFunc

// Append returns the hashes to store for a leaf that becomes number size, and the number of the first of
// them. The others follow it.
func Append(size int64, leaf []byte, hashes HashReader) (first int64, added []Hash, err error) {
	added, err = merkle.StoredHashes(size, leaf, hashes)
	return merkle.StoredHashCount(size), added, err
}

// StoredHashes is how many hashes are stored for a log of this size.
func StoredHashes(size int64) int64 { return merkle.StoredHashCount(size) }

// Root is the hash of a log of this size.
func Root(size int64, hashes HashReader) (Hash, error) {
	if size == 0 {
		return emptyRoot, nil
	}
	return merkle.TreeHash(size, hashes)
}

// emptyRoot is the hash of a log without leaves: SHA-256 of nothing.
var emptyRoot = Hash{0xe3, 0xb0, 0xc4, 0x42, 0x98, 0xfc, 0x1c, 0x14, 0x9a, 0xfb, 0xf4, 0xc8, 0x99, 0x6f, 0xb9, 0x24, 0x27, 0xae, 0x41, 0xe4, 0x64, 0x9b, 0x93, 0x4c, 0xa4, 0x95, 0x99, 0x1b, 0x78, 0x52, 0xb8, 0x55}

// ProveLeaf returns the proof that leaf number index is in a log of this size.
func ProveLeaf(size, index int64, hashes HashReader) ([]Hash, error) {
	if index < 0 || index >= size {
		return nil, fmt.Errorf("the log has %d leaves, and none with the number %d", size, index)
	}
	return merkle.ProveRecord(size, index, hashes)
}

// ProveGrowth returns the proof that a log of the size newer begins with one of the size older.
func ProveGrowth(older, newer int64, hashes HashReader) ([]Hash, error) {
	switch {
	case older < 0 || older > newer:
		return nil, fmt.Errorf("the log has %d leaves, and was never larger", newer)
	case older == 0 || older == newer:
		return nil, nil
	}
	return merkle.ProveTree(newer, older, hashes)
}
