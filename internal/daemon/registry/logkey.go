package registry

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"github.com/perstack-go/perstack/internal/privatefile"
	"github.com/perstack-go/perstack/internal/userfile"
)

// A logKey signs the log. Its name is the origin of the log, for ever.
type logKey struct {
	signer note.Signer
	public string // verifier key
}

const (
	logKeyName = "log.key"
	maxLogKey  = 4 << 10
)

// readLogKey reads the key of the log. The error is fs.ErrNotExist if there is none yet.
func readLogKey(dir string) (logKey, error) { return readKeyFile(filepath.Join(dir, logKeyName)) }

func readKeyFile(path string) (logKey, error) {
	data, err := userfile.ReadOwn(path, maxLogKey)
	if err != nil {
		return logKey{}, fmt.Errorf("the key of the log cannot be read: %w", err)
	}
	secret, public, _ := strings.Cut(strings.TrimSpace(string(data)), "\n")
	signer, err := note.NewSigner(secret)
	if err == nil {
		var verifier note.Verifier
		if verifier, err = note.NewVerifier(public); err == nil && (verifier.Name() != signer.Name() || verifier.KeyHash() != signer.KeyHash()) {
			err = errors.New("its two lines are of different keys")
		}
	}
	if err != nil {
		return logKey{}, fmt.Errorf("%s is not the key of a log; restore it from a backup", path)
	}
	return logKey{signer, public}, nil
}

// makeLogKey makes the key of a new log.
func makeLogKey(dir, origin string) (logKey, error) {
	return makeKeyFile(filepath.Join(dir, logKeyName), origin)
}

// makeKeyFile makes a key for a log, if the file has none yet.
func makeKeyFile(path, origin string) (logKey, error) {
	secret, public, err := note.GenerateKey(rand.Reader, origin)
	if err != nil {
		return logKey{}, fmt.Errorf("%q cannot name a log: %w", origin, err)
	}
	err = privatefile.CreateDurable(path, []byte(secret+"\n"+public+"\n"))
	if err != nil && !errors.Is(err, fs.ErrExist) { // another process was first
		return logKey{}, fmt.Errorf("the key of the log cannot be stored: %w", err)
	}
	return readKeyFile(path)
}
