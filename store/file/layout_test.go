//go:build unix

package file

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/storetest"
)

// Looking at a storage that does not exist must not make it.
func TestReadingCreatesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "perstack")
	s := New(dir, nil)
	for _, err := range s.Jobs(t.Context()) {
		t.Error(err)
	}
	for _, err := range s.Read(t.Context(), "job1", 0) {
		if !errors.Is(err, store.ErrNotFound) {
			t.Error(err)
		}
	}
	for _, id := range storetest.BadIDs {
		if _, err := s.Open(t.Context(), id); err == nil {
			t.Errorf("Open(%q) succeeded", id)
		}
	}
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the storage directory was made: %v", err)
	}
}

// Modes do not depend on the umask, in either direction. The umask belongs to the
// process: this test must not be parallel.
func TestModes(t *testing.T) {
	for _, mask := range []int{0, 0o777} {
		outer := filepath.Join(t.TempDir(), "storage")
		old := unix.Umask(mask)
		s := New(outer, nil)
		j, err := s.Open(t.Context(), "job1")
		if err == nil {
			_, err = j.Append(t.Context(), storetest.Sample("job1")[0])
		}
		if err == nil {
			err = j.Commit(t.Context())
		}
		unix.Umask(old)
		if err != nil {
			t.Fatal(err)
		}
		checkModes(t, outer, ".gitignore", "jobs", "jobs/job1", "jobs/job1/head", "jobs/job1/journal.jsonl", "jobs/job1/lock")
		unix.Umask(mask)
		err = j.Close()
		unix.Umask(old)
		if err != nil {
			t.Fatal(err)
		}
		checkModes(t, outer, ".gitignore", "jobs", "jobs/job1", "jobs/job1/head", "jobs/job1/journal.jsonl", "jobs/job1/job.json")
		if got := string(readFile(t, filepath.Join(outer, ".gitignore"))); got != "*\n" {
			t.Errorf(".gitignore holds %q", got)
		}
		// What a careless copy left readable is made private by the next writer.
		os.Chmod(s.path(journalName), 0o644)
		os.Chmod(s.path("."), 0o755)
		mustClose(t, mustOpen(t, s))
		checkModes(t, outer, ".gitignore", "jobs", "jobs/job1", "jobs/job1/head", "jobs/job1/journal.jsonl", "jobs/job1/job.json")
	}
}

// checkModes fails unless dir holds exactly these names, with our modes.
func checkModes(t *testing.T, dir string, names ...string) {
	t.Helper()
	want := map[string]bool{".": true}
	for _, name := range names {
		want[name] = true
	}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		mode := fs.FileMode(0o600)
		if d.IsDir() {
			mode = 0o700
		}
		if err != nil || info.Mode().Perm() != mode || !want[name] {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
		delete(want, name)
		return nil
	})
	if err != nil || len(want) > 0 {
		t.Errorf("missing: %v (%v)", want, err)
	}
}

// What takes the place of our files is refused: a pipe without hanging, a link
// wherever it leads.
func TestStrangeFiles(t *testing.T) {
	tests := []struct {
		name, want string
		plant      func(dir string) error
	}{
		{"pipe for a journal", "it is a pipe", func(dir string) error {
			return unix.Mkfifo(filepath.Join(dir, "jobs/job1/journal.jsonl"), 0o600)
		}},
		{"directory for a journal", "it is a directory", func(dir string) error {
			return os.Mkdir(filepath.Join(dir, "jobs/job1/journal.jsonl"), 0o700)
		}},
		{"link for a journal", "it is a symbolic link", func(dir string) error {
			return os.Symlink("/dev/zero", filepath.Join(dir, "jobs/job1/journal.jsonl"))
		}},
		{"link within the storage for a journal", "it is a symbolic link", func(dir string) error {
			return os.Symlink("../job2/journal.jsonl", filepath.Join(dir, "jobs/job1/journal.jsonl"))
		}},
		{"link for a job", "it is a symbolic link", func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, "jobs/job1")), os.Symlink(dir+"/..", filepath.Join(dir, "jobs/job1")))
		}},
		{"file for a job", "it is a file", func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, "jobs/job1")), os.WriteFile(filepath.Join(dir, "jobs/job1"), nil, 0o600))
		}},
		{"link for all jobs", "it is a symbolic link", func(dir string) error {
			return errors.Join(os.RemoveAll(filepath.Join(dir, "jobs")), os.Mkdir(filepath.Join(dir, "away"), 0o700),
				os.Mkdir(filepath.Join(dir, "away/job1"), 0o700), os.Symlink("away", filepath.Join(dir, "jobs")))
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "perstack")
			if err := errors.Join(os.MkdirAll(filepath.Join(dir, "jobs/job1"), 0o700), test.plant(dir)); err != nil {
				t.Fatal(err)
			}
			s := New(dir, nil)
			check := func(what string, err error) {
				t.Helper()
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("%s: %v, want %q", what, err, test.want)
				}
			}
			_, err := s.Open(t.Context(), "job1")
			check("Open", err)
			for _, err := range s.Read(t.Context(), "job1", 0) {
				check("Read", err)
			}
			_, err = s.FindJob(t.Context(), "job1")
			check("FindJob", err)
		})
	}
}

// Strange entries among the jobs are reported, hidden ones are not ours, and neither
// stops the listing.
func TestStrangeEntries(t *testing.T) {
	s, _, _ := sampleJob(t)
	jobs := filepath.Join(s.dir, jobsName)
	writeFile(t, filepath.Join(jobs, ".DS_Store"), nil)
	writeFile(t, filepath.Join(jobs, "notes"), nil)
	writeFile(t, filepath.Join(jobs, "a b", "journal.jsonl"), nil)
	if err := errors.Join(os.Symlink("job1", filepath.Join(jobs, "twin")), unix.Mkfifo(filepath.Join(jobs, "pipe"), 0o600)); err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for info, err := range s.Jobs(t.Context()) {
		got[info.ID] = err == nil
	}
	if len(got) != 5 || !got["job1"] || got["notes"] || got["a b"] || got["twin"] || got["pipe"] {
		t.Errorf("listed: %v", got)
	}
}

// A pipe, a link or rubbish in the place of the files that are not the journal costs
// nothing but what they were for.
func TestStrangeHelpers(t *testing.T) {
	s, _, _ := sampleJob(t)
	for _, name := range []string{summaryName, lockName, summaryName + ".tmp", lockName + ".tmp"} {
		os.Remove(s.path(name))
		if err := unix.Mkfifo(s.path(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := s.FindJob(t.Context(), "job1"); err != nil || info.TotalSteps != 2 {
		t.Errorf("FindJob = %+v, %v", info, err)
	}
	j := mustOpen(t, s)
	if _, err := s.Open(t.Context(), "job1"); !errors.Is(err, store.ErrLocked) {
		t.Error(err)
	}
	mustAppend(t, j, storetest.Note("job1", 1, "x"))
	mustClose(t, j)
	checkModes(t, s.dir, ".gitignore", "jobs", "jobs/job1", "jobs/job1/head", "jobs/job1/journal.jsonl", "jobs/job1/job.json")
}
