package server

import (
	"fmt"

	"github.com/perstack-go/perstack/internal/registry/tlog"
)

// verifyBatch is how many rows of a log are read at once.
const verifyBatch = 1000

// log computes the hashes of a log from its leaves, and those of its checkpoints from the hashes. It adds what
// the leaves tell to the history.
func (v *verification) log(log string, told *history) error {
	hashes, err := v.storedHashes(log)
	if err != nil {
		return err
	}
	if v.sealed, err = v.sealedTexts(log); err != nil {
		return err
	}
	size := int64(0)
	for more := true; more; {
		more = false
		err := v.each("SELECT number, text FROM log_leaves WHERE log = $1 AND number >= $2 ORDER BY number LIMIT $3", []any{log, size, verifyBatch}, func(scan func(...any) error) error {
			var number int64
			var text []byte
			if err := scan(&number, &text); err != nil {
				return err
			}
			more = true
			for ; size < number; size++ {
				v.report.add(leafName(log, size), "it is missing")
			}
			size = number + 1
			v.leaf(log, number, text, hashes, told)
			return nil
		})
		if err != nil {
			return err
		}
	}
	v.report.Leaves += size
	if have, want := int64(len(hashes)), tlog.StoredHashes(size); have != want {
		v.report.add("log "+log, "it has %d hashes; %d leaves have %d", have, size, want)
	}
	return v.heads(log, size, hashes, told.keys)
}

func leafName(log string, number int64) string { return fmt.Sprintf("leaf %d of %s", number, log) }

// A hashList has the hashes of a log as they are stored.
type hashList []tlog.Hash

// ReadHashes returns some of them.
func (l hashList) ReadHashes(numbers []int64) ([]tlog.Hash, error) {
	all := make([]tlog.Hash, len(numbers))
	for i, n := range numbers {
		if n >= int64(len(l)) {
			return nil, fmt.Errorf("the hash %d is missing", n)
		}
		all[i] = l[n]
	}
	return all, nil
}

func (v *verification) storedHashes(log string) (all hashList, err error) {
	err = v.each("SELECT number, hash FROM log_hashes WHERE log = $1 ORDER BY number", []any{log}, func(scan func(...any) error) error {
		var number int64
		var stored []byte
		if err := scan(&number, &stored); err != nil {
			return err
		}
		for int64(len(all)) < number {
			v.report.add(fmt.Sprintf("hash %d of %s", len(all), log), "it is missing")
			all = append(all, tlog.Hash{})
		}
		var hash tlog.Hash
		if copy(hash[:], stored) != len(stored) || len(stored) != len(hash) {
			v.report.add(fmt.Sprintf("hash %d of %s", number, log), "it has %d bytes", len(stored))
		}
		all = append(all, hash)
		return nil
	})
	return all, err
}

// leaf compares the hashes that a leaf added with those that are stored.
func (v *verification) leaf(log string, number int64, text []byte, hashes hashList, told *history) {
	first, added, err := tlog.Append(number, text, hashes)
	if err != nil {
		v.report.add(leafName(log, number), "its hashes cannot be computed: %v", err)
		return
	}
	for i, hash := range added {
		stored, err := hashes.ReadHashes([]int64{first + int64(i)})
		if err != nil || stored[0] == hash {
			continue // missing ones are reported
		}
		if i == 0 {
			v.report.add(leafName(log, number), "it does not have the hash %d that is stored for it", first)
			break // those above differ for the same reason
		}
		v.report.add(fmt.Sprintf("hash %d of %s", first+int64(i), log), "it is not that of the hashes below it")
	}
	leaf, err := tlog.ParseLeaf(text)
	if err != nil {
		v.report.add(leafName(log, number), "%v", err)
		return
	}
	sealed := leaf.Kind == tlog.Sealed
	if sealed {
		if leaf, err = leaf.Open(v.sealed[number]); err != nil {
			v.report.add(leafName(log, number), "%v", err)
			return
		}
	}
	told.add(log, number, leaf, sealed, v.report)
}

// sealedTexts returns what the leaves of private Experts hide, by their number.
func (v *verification) sealedTexts(log string) (map[int64][]byte, error) {
	all := map[int64][]byte{}
	err := v.each("SELECT number, text FROM log_sealed WHERE log = $1", []any{log}, func(scan func(...any) error) error {
		var number int64
		var text []byte
		err := scan(&number, &text)
		all[number] = text
		return err
	})
	return all, err
}

// heads checks the signature and the hash of every checkpoint.
func (v *verification) heads(log string, size int64, hashes hashList, keys []keyChange) error {
	last := int64(0)
	keyOf, err := v.logKeys(log, keys)
	if err != nil {
		return err
	}
	err = v.each("SELECT size, note FROM log_heads WHERE log = $1 ORDER BY size", []any{log}, func(scan func(...any) error) error {
		var at int64
		var signed []byte
		if err := scan(&at, &signed); err != nil {
			return err
		}
		what := fmt.Sprintf("checkpoint %d of %s", at, log)
		last = at
		var c tlog.Checkpoint
		for _, verifier := range keyOf(at) {
			if c, _, err = tlog.OpenCheckpoint(signed, log, verifier); err != nil {
				v.report.add(what, "%v", err)
				return nil
			}
		}
		root, err := tlog.Root(at, hashes)
		switch {
		case c.Size != at:
			v.report.add(what, "it was signed for %d leaves", c.Size)
		case err != nil:
			v.report.add(what, "%v", err)
		case root != c.Hash:
			v.report.add(what, "it was signed for other leaves than the log has")
		}
		return nil
	})
	if err == nil && last != size {
		v.report.add("log "+log, "it has %d leaves, and the newest checkpoint is of %d", size, last)
	}
	return err
}
