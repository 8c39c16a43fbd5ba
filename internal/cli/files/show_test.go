package files_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/cli/files"
	"github.com/perstack-go/perstack/internal/workspace/snapshot"
)

// A job can make as many files as it likes. To name them must not take longer than to remove them:
// the cost of a row does not depend on how many there are.
func TestRowsOfManyChanges(t *testing.T) {
	const many = 10_000
	changes := make([]snapshot.Change, many)
	for i := range changes {
		changes[i] = snapshot.Change{Path: fmt.Sprintf("dir/%05d", i), After: &snapshot.Entry{Kind: snapshot.File}}
	}
	var rows []files.Row
	allocations := testing.AllocsPerRun(1, func() { rows = files.Rows(changes) })
	if allocations > many/10 {
		t.Errorf("%.0f allocations for %d rows", allocations, many)
	}
	inOrder := slices.IsSortedFunc(rows, func(a, b files.Row) int { return strings.Compare(a.Path, b.Path) })
	if len(rows) != many || !inOrder || rows[0] != (files.Row{Letter: "A", Path: "dir/00000"}) {
		t.Errorf("%d rows, in order: %t, the first is %+v", len(rows), inOrder, rows[0])
	}
}
