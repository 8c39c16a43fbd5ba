package rewind

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Files that cannot be stored, or read to their end, do not hold a run up. They are left alone, and
// what else the run changed is undone.
func TestAwkwardFiles(t *testing.T) {
	p := newProject(t)
	p.sh("echo old > a; mkdir dir; echo x > dir/x")
	want := p.mustList()
	code, out := p.runOnce([]string{
		"echo new > a; mkfifo fifo; ln -s /dev/zero zero; truncate -s 1T sparse; ln -s ../.. up; mkdir made; echo y > made/y",
		// It runs on in the background after its call has ended, and is gone with the run.
		"(while :; do echo more >> log; echo x > flicker; rm flicker; done) > /dev/null 2>&1 & until [ -e log ]; do :; done; echo begun > b",
		"chmod 444 a; rm dir/x; rmdir dir",
	}, "--job-id", jobID)
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	if n := strings.Count(out, "not all files of the workspace can be restored"); n != 1 || !strings.Contains(out, "sparse") {
		t.Errorf("%d messages about the file that is too large, want one:\n%s", n, out)
	}
	log, err := os.Stat(filepath.Join(p.ws, "log"))
	p.check(err)

	// Writes in the background can be taken for those of others, so it takes force. The large file
	// and the pipe are no part of it.
	code, out = p.perstack("undo", jobID, "--force")
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	if after, err := os.Stat(filepath.Join(p.ws, "log")); err == nil && after.Size() != log.Size() {
		t.Errorf("the log is still written, or restored in part: %d bytes, then %d", log.Size(), after.Size())
	}
	for _, name := range []string{"sparse", "fifo"} {
		if _, err := os.Lstat(filepath.Join(p.ws, name)); err != nil {
			t.Errorf("%s was not left alone: %v", name, err)
		}
		if !strings.Contains(out, name) {
			t.Errorf("nothing is said about %s:\n%s", name, out)
		}
		p.check(os.Remove(filepath.Join(p.ws, name)))
	}
	_ = os.Remove(filepath.Join(p.ws, "flicker"))
	got := p.mustList()
	for path := range want.changed(got) {
		t.Errorf("%s is %q, want %q", path, got[path], want[path])
	}
	p.must(back(out)...)
	if got := p.sh("cat a b made/y; readlink zero up"); got != "new\nbegun\ny\n/dev/zero\n../..\n" {
		t.Errorf("back again: %q", got)
	}
}

// A file that its user cannot read is not stored. If the job did nothing to it, nothing is refused.
// What the job has made unreadable is restored.
func TestUnreadableFiles(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root reads every file; CI runs the tests as another user")
	}
	p := newProject(t)
	p.sh("echo old > a; echo s > secret; chmod 000 secret; mkdir closed; echo c > closed/c; chmod 000 closed")
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(p.ws, "closed"), 0o755) })
	code, out := p.runOnce([]string{"echo new > a"}, "--job-id", jobID)
	if code != 0 || !strings.Contains(out, "not all files of the workspace can be restored") {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	p.must("undo", jobID)
	p.sh("chmod 755 closed; chmod 600 secret")
	if got := p.sh("cat a secret closed/c"); got != "old\ns\nc\n" {
		t.Errorf("undone: %q", got)
	}

	// The job opens a directory: what is in it was there before.
	p.sh("chmod 000 closed")
	if code, out := p.runOnce([]string{"echo new > a; chmod 755 closed", "rm a"}, "--continue-job", jobID); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	p.must("undo", jobID, "--force")
	if got := p.sh("cat a closed/c"); got != "old\nc\n" {
		t.Errorf("undone: %q", got)
	}

	// The job closes a file and a directory.
	if code, out := p.runOnce([]string{"for f in a closed/c closed/d; do echo new > $f; done; chmod 000 a closed"}, "--continue-job", jobID); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	p.must("undo", jobID)
	if got := p.sh("cat a closed/*; stat -c %a a closed"); got != "old\nc\n644\n755\n" {
		t.Errorf("undone: %q", got)
	}
}
