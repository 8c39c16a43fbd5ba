package state

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/privatefile"
	"github.com/perstack-go/perstack/internal/userfile"
)

const (
	remoteName = "remote"
	pinName    = "pin.json"
)

// A Remote is a file that the user fetches from a URL: what was confirmed of it, and a copy.
type Remote struct {
	URL string
	Dir string // of the copy, for this URL alone
}

// Remote returns where the file of a URL is kept.
func (d Dir) Remote(url string) Remote {
	sum := sha256.Sum256([]byte(url))
	return Remote{url, filepath.Join(string(d), remoteName, hex.EncodeToString(sum[:2*hashBytes]))}
}

// IsRemote reports whether a path is that of a copy.
func (d Dir) IsRemote(path string) bool {
	return filepath.Dir(filepath.Dir(path)) == filepath.Join(string(d), remoteName)
}

// A pin is the content of pin.json.
type pin struct {
	URL    string `json:"url"`
	SHA256 string `json:"sha256"`
}

// Digest returns the SHA-256 of the content that the user confirmed; "" if there is none yet.
func (r Remote) Digest() (string, error) {
	data, err := userfile.Read(filepath.Join(r.Dir, pinName), maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	var p pin
	if err == nil {
		err = json.Unmarshal(data, &p)
	}
	if err == nil && p.URL != r.URL {
		err = errors.New("it is of another URL")
	}
	if err != nil {
		return "", fmt.Errorf("read %s: %w", filepath.Join(r.Dir, pinName), err)
	}
	return p.SHA256, nil
}

// Confirm records the digest that the user confirmed.
func (r Remote) Confirm(digest string) error {
	data, err := json.Marshal(pin{r.URL, digest})
	if err != nil {
		return err
	}
	return privatefile.Replace(filepath.Join(r.Dir, pinName), data)
}

// Save writes the copy under a name, and returns its path.
func (r Remote) Save(name string, content []byte) (string, error) {
	path := filepath.Join(r.Dir, name)
	return path, privatefile.Replace(path, content)
}
