//go:build root && linux

package userfile

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/perstack-go/perstack/internal/testkit/hung"
)

// A file system that does not answer is given up while the call about it still waits.
func TestRootReadHungFile(t *testing.T) {
	path := filepath.Join(hung.Mount(t), "perstack.toml")
	ended := make(chan error, 1)
	_, err := within(100*time.Millisecond, func() ([]byte, error) {
		data, err := ReadNow(path, 1<<20)
		ended <- err
		return data, err
	}, func([]byte) {})
	if !errors.Is(err, ErrNoAnswer) {
		t.Errorf("%v, want %v", err, ErrNoAnswer)
	}
	select {
	case err := <-ended:
		t.Errorf("the file system answered: %v", err)
	default:
	}
}
