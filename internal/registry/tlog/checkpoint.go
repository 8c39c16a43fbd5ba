package tlog

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	merkle "golang.org/x/mod/sumdb/tlog"
)

// A Hash is that of a leaf, or of a tree.
type Hash = merkle.Hash

// A Checkpoint is the state of a log: how many leaves it has, and their hash.
type Checkpoint struct {
	Origin string // names the log
	Size   int64
	Hash   Hash
}

// Text is what the log signs.
func (c Checkpoint) Text() string {
	return fmt.Sprintf("%s\n%d\n%s\n", c.Origin, c.Size, base64.StdEncoding.EncodeToString(c.Hash[:]))
}

// Sign returns the checkpoint as a signed note.
func (c Checkpoint) Sign(signers ...note.Signer) ([]byte, error) {
	return note.Sign(&note.Note{Text: c.Text()}, signers...)
}

// maxNote is how long a checkpoint with its signatures can be.
const maxNote = 64 << 10

// OpenCheckpoint reads a signed checkpoint of the log with this origin. At least one of the verifiers must
// know a signature; signers are the names of those that do. A signature of a known key that is wrong is
// an error.
func OpenCheckpoint(signed []byte, origin string, verifiers ...note.Verifier) (c Checkpoint, signers []string, err error) {
	fail := func(err error) (Checkpoint, []string, error) {
		return Checkpoint{}, nil, fmt.Errorf("the checkpoint of the log cannot be trusted: %w", err)
	}
	if len(signed) > maxNote {
		return fail(fmt.Errorf("it has more than %d bytes", maxNote))
	}
	n, err := note.Open(signed, note.VerifierList(verifiers...))
	if err != nil {
		var unverified *note.UnverifiedNoteError
		if errors.As(err, &unverified) {
			err = errors.New("no key that is known has signed it")
		}
		return fail(err)
	}
	if c, err = parseCheckpoint(n.Text); err != nil {
		return fail(err)
	}
	if c.Origin != origin {
		return fail(fmt.Errorf("it is of the log %q, not of %q", c.Origin, origin))
	}
	for _, s := range n.Sigs {
		signers = append(signers, s.Name)
	}
	return c, signers, nil
}

// parseCheckpoint reads what the log signs. There is one text for each checkpoint.
func parseCheckpoint(text string) (Checkpoint, error) {
	lines := strings.Split(text, "\n")
	if len(lines) != 4 || lines[3] != "" {
		return Checkpoint{}, errors.New("it does not have three lines")
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	hash, hashErr := base64.StdEncoding.DecodeString(lines[2])
	if err != nil || hashErr != nil || len(hash) != merkle.HashSize {
		return Checkpoint{}, errors.New("its size or hash is not one")
	}
	c := Checkpoint{Origin: lines[0], Size: size, Hash: Hash(hash)}
	if size < 0 || c.Origin == "" || c.Text() != text {
		return Checkpoint{}, errors.New("it is not written as checkpoints are")
	}
	return c, nil
}

// CheckLeaf proves that a leaf is in the log, at this index.
func CheckLeaf(proof []Hash, c Checkpoint, index int64, leaf []byte) error {
	if index < 0 || index >= c.Size {
		return fmt.Errorf("the log has %d leaves, and none with the number %d", c.Size, index)
	}
	if err := merkle.CheckRecord(proof, c.Size, c.Hash, index, merkle.RecordHash(leaf)); err != nil {
		return fmt.Errorf("the log does not have the leaf %d as it was sent", index)
	}
	return nil
}

// CheckGrowth proves that everything in the older state of a log is in the newer one too, at the same place.
func CheckGrowth(proof []Hash, older, newer Checkpoint) error {
	switch {
	case older.Origin != newer.Origin:
		return fmt.Errorf("two logs, %q and %q, cannot be compared", older.Origin, newer.Origin)
	case newer.Size < older.Size:
		return fmt.Errorf("the log had %d leaves before, and now has %d", older.Size, newer.Size)
	case older.Size == newer.Size && older.Hash != newer.Hash:
		return fmt.Errorf("the log shows two different histories of %d leaves", older.Size)
	case older.Size == 0 || older.Size == newer.Size:
		return nil
	}
	if err := merkle.CheckTree(proof, newer.Size, newer.Hash, older.Size, older.Hash); err != nil {
		return fmt.Errorf("the first %d leaves of the log are not those that were there before", older.Size)
	}
	return nil
}
