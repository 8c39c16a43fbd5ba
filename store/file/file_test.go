package file

import (
	"path/filepath"
	"testing"

	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/storetest"
)

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store {
		return New(filepath.Join(t.TempDir(), "a", "perstack"), nil)
	})
}
