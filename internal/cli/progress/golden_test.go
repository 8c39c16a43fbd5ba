package progress

import (
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit"
)

// golden compares got with a file in testdata. Escape characters are written as ␛, so
// that the files can be read.
func golden(t *testing.T, name, got string) {
	t.Helper()
	testkit.Golden(t, name, strings.ReplaceAll(got, "\x1b", "␛"))
}
