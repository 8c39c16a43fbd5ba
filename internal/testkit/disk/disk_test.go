package disk_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit/disk"
)

var errBroken = errors.New("broken")

// three performs three operations, and says what was done of each and what was answered.
func three(d *disk.Disk) []string {
	var got []string
	for _, op := range []struct {
		kind string
		size int
	}{{"create", 0}, {"write", 10}, {"sync", 0}} {
		did := "nothing"
		err := d.Do(op.kind, "file", op.size, func(size int) error {
			did = fmt.Sprintf("%d bytes", size)
			return nil
		})
		got = append(got, fmt.Sprintf("%s: %s, %v", op.kind, did, err))
	}
	return got
}

func TestFaults(t *testing.T) {
	const created, written, synced = "create: 0 bytes, <nil>", "write: 10 bytes, <nil>", "sync: 0 bytes, <nil>"
	isWrite := func(op disk.Op) bool { return op.Kind == "write" }
	twice := func(op disk.Op, run func(int) error) error { return errors.Join(run(1), run(op.Size)) }
	tests := []struct {
		name   string
		faults []disk.Fault
		want   []string
	}{
		{"none", nil, []string{created, written, synced}},
		{"fail", []disk.Fault{disk.FailAt(2, errBroken)}, []string{created, "write: nothing, broken", synced}},
		{"fail from", []disk.Fault{disk.FailFrom(2, errBroken)}, []string{created, "write: nothing, broken", "sync: nothing, broken"}},
		{"fail after", []disk.Fault{disk.FailAfter(2, errBroken)}, []string{created, "write: 10 bytes, broken", synced}},
		{"short write", []disk.Fault{disk.ShortWriteAt(2, 4, errBroken)}, []string{created, "write: 4 bytes, broken", synced}},
		{"short write of little", []disk.Fault{disk.ShortWriteAt(2, 40, errBroken)}, []string{created, "write: 10 bytes, broken", synced}},
		{"short write of no write", []disk.Fault{disk.ShortWriteAt(1, 4, errBroken)}, []string{"create: nothing, broken", written, synced}},
		{"when", []disk.Fault{disk.When(isWrite, twice)}, []string{created, written, synced}},
		{"two", []disk.Fault{disk.FailAt(1, errBroken), disk.FailAt(3, errBroken)}, []string{"create: nothing, broken", written, "sync: nothing, broken"}},
		{"the first counts", []disk.Fault{disk.FailAfter(3, nil), disk.FailFrom(3, errBroken)}, []string{created, written, synced}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d := disk.New(test.faults...)
			if got := three(d); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
			want := []disk.Op{{N: 1, Kind: "create", Name: "file"}, {N: 2, Kind: "write", Name: "file", Size: 10}, {N: 3, Kind: "sync", Name: "file"}}
			if got := d.Ops(); !slices.Equal(got, want) || d.Count() != 3 {
				t.Errorf("operations %v", got)
			}
		})
	}
}

// dying is set in the environment of the process that shall end itself.
const dying = "PERSTACK_TEST_DYING"

func TestMain(m *testing.M) {
	fault, ok := map[string]disk.Fault{
		"before": disk.KillAt(0), "after": disk.KillAt(2), "within": disk.TearAt(2, 4), "never": disk.KillAt(9),
	}[os.Getenv(dying)]
	if !ok {
		os.Exit(m.Run())
	}
	d := disk.New(fault)
	for _, size := range []int{0, 10, 0} {
		_ = d.Do("op", "file", size, func(size int) error { // a fault that does not end the process shows below
			fmt.Print(size, " ")
			return nil
		})
	}
	os.Exit(0)
}

func TestKill(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for when, want := range map[string]string{"before": "", "after": "0 10 ", "within": "0 4 ", "never": "0 10 0 "} {
		cmd := exec.CommandContext(t.Context(), self)
		cmd.Env = append(os.Environ(), dying+"="+when)
		out, err := cmd.Output()
		if string(out) != want || (err == nil) != (when == "never") {
			t.Errorf("%s: it did %q (%v), want %q", when, out, err, want)
		}
	}
}
