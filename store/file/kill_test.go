//go:build unix

package file

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"

	faulty "github.com/perstack-go/perstack/internal/testkit/disk"
	"github.com/perstack-go/perstack/store"
)

// killedAt runs until the operation that its first argument names, and is killed there: right
// after it, or when as many of its bytes are written as the second argument says. It
// prints every record that was acknowledged.
func killedAt(s *Store) error {
	n, err := strconv.Atoi(os.Args[2])
	if err != nil {
		return err
	}
	fault := faulty.KillAt(n)
	if len(os.Args) > 3 {
		bytes, err := strconv.Atoi(os.Args[3])
		if err != nil {
			return err
		}
		fault = faulty.TearAt(n, bytes)
	}
	l := life{s: New(s.dir, &Options{Disk: faulty.New(fault)}), said: func(r store.Record) { fmt.Printf("%s\n", r.Line) }}
	l.live(context.Background())
	return errors.Join(append(l.errs, errors.New("it did not die"))...)
}

// The process is killed after every operation, before the first, and in the middle of
// every write. What was acknowledged is there. One record more may be there, when the
// death came between its last byte and the word about it; none is there by half.
func TestKilledAtEveryOperation(t *testing.T) {
	for state := range lives {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			ops := liveWith(t, state).disk.Ops()
			killed(t, state, faulty.Op{}, "0")
			kills := 1
			for i, op := range ops {
				if testing.Short() && i%4 != 0 {
					continue
				}
				killed(t, state, op, strconv.Itoa(op.N))
				kills++
				if op.Kind != OpWrite || op.Name == headName {
					continue // the system does not stop in the middle of a write of one sector
				}
				for _, size := range slices.Compact([]int{1, op.Size / 2, op.Size - 1}) {
					killed(t, state, op, strconv.Itoa(op.N), strconv.Itoa(size))
					kills++
				}
			}
			t.Logf("%d operations, %d kills, nothing lost", len(ops), kills)
		})
	}
}

func killed(t *testing.T, state string, op faulty.Op, args ...string) {
	t.Helper()
	dir, before := place(t, state)
	cmd, out := child(t, "killedAt", New(dir, nil), args...)
	out.Buffer(nil, 1<<20)
	want := bytes.Join(before, nil)
	for out.Scan() {
		want = append(append(want, out.Bytes()...), '\n')
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.Exited() {
		t.Fatalf("operation %v: the process was not killed: %s", args, want)
	}
	if op.Kind == OpWrite && op.Name == journalName && len(args) == 1 {
		// The last byte was written, and Append did not return.
		data := readFile(t, New(dir, nil).path(journalName))
		if !bytes.HasPrefix(data, want) || bytes.Count(data[len(want):], []byte("\n")) != 1 {
			t.Fatalf("operation %v: the journal is\n%s\nwant\n%s\nand one more", args, data, want)
		}
		want = data
	}
	if checkStorage(t, dir, want); t.Failed() {
		t.Fatalf("killed at operation %v, %+v", args, op)
	}
}
