//go:build unix

package docker

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit/jail"
)

func symlink(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
}

func TestCoverWorkspace(t *testing.T) {
	outside, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name           string
		files          []string
		links          map[string]string // name to target
		protected      []string          // relative to the workspace; "/…" to the directory outside
		readOnly       []string
		masked, frozen string
		pinned         string
		refused        string
	}{
		{name: "nothing"},
		{name: "storage and env files", files: []string{"perstack/jobs/1", ".env", "sub/.env.local", "sub/.env.example"},
			protected: []string{"perstack", ".env"}, masked: ".env perstack sub/.env.local"},
		{name: "what does not exist yet", protected: []string{"perstack", "a/b/.env"}, readOnly: []string{"perstack.lock"},
			masked: "a/b/.env perstack", frozen: "perstack.lock"},
		{name: "deeper", files: []string{"conf/deep/perstack.toml", "some/where/history/x"}, protected: []string{"some/where/history"},
			readOnly: []string{"conf/deep/perstack.toml", "conf/deep/perstack.lock"}, masked: "some/where/history", frozen: "conf/deep/perstack.lock conf/deep/perstack.toml",
			pinned: "conf conf/deep some some/where"},
		{name: "a rule that is a link", files: []string{"conf/perstack.toml"}, links: map[string]string{"perstack.toml": "conf/perstack.toml"},
			readOnly: []string{"perstack.toml"}, refused: "is a link in the workspace"},
		{name: "outside", protected: []string{"/storage", "/.env"}, readOnly: []string{"/perstack.toml"}},
		{name: "read only", files: []string{"perstack.toml", "perstack.lock"}, readOnly: []string{"perstack.toml", "perstack.lock"},
			frozen: "perstack.lock perstack.toml"},
		{name: "the storage is a link to elsewhere in it", files: []string{"deep/history/x"}, links: map[string]string{"perstack": "deep/history"},
			protected: []string{"perstack"}, refused: "is a link in the workspace"},
		{name: "the storage is behind a link", files: []string{"deep/history/x"}, links: map[string]string{"way": "deep"},
			protected: []string{"way/history"}, refused: "is a link in the workspace"},
		{name: "the storage outside is a link into it", files: []string{"kept/x"}, links: map[string]string{"/in": "../kept"},
			protected: []string{"/in"}, masked: "kept"},
		{name: "the storage is a link out of it", links: map[string]string{"perstack": "/storage"}, protected: []string{"perstack"}},
		{name: "an env file that is a link", files: []string{"config/real"}, links: map[string]string{".env": "config/real", "config/.env": "real"}, masked: "config/real"},
		{name: "an env file that is a link to nothing", links: map[string]string{".env": "nothing", "a.env": "x"}},
		{name: "an env file that is a link to all", links: map[string]string{".env": ".", "sub/.env.local": ".."}},
		{name: "an env file that is a link out of it", links: map[string]string{".env": "/secret"}},
		{name: "a git repository", files: []string{".git/HEAD", ".git/config", ".git/hooks/pre-commit", ".git/info/attributes", ".git/objects/x", ".git/refs/x"},
			frozen: ".git/config .git/hooks .git/info/attributes", pinned: ".git .git/info"},
		{name: "a repository in another, by a file", files: []string{"a/b/.git", ".git/HEAD", ".git/commondir", "c.git/HEAD", "c.git/objects/x", "c.git/refs/x", "c.git/config"},
			frozen: ".git/commondir a/b/.git c.git/config", pinned: ".git a a/b c.git"},
		{name: "the workspace is a repository", files: []string{"HEAD", "config", "objects/x", "refs/x"}, frozen: "config"},
		{name: "links in a repository", files: []string{".git/HEAD", ".git/objects/x", ".git/refs/x", "kept/attributes"},
			links: map[string]string{".git/hooks": "../kept", ".git/config": "../kept/attributes", ".git/info": "../kept", "a/.git": "../kept"}},
		{name: "a directory that is called like one", files: []string{".env/bin/python"}, masked: ".env"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, uid, gid := someone(t)
			real, err := filepath.EvalSymlinks(dir)
			if err != nil {
				t.Fatal(err)
			}
			place := func(name string) string {
				if out, ok := strings.CutPrefix(name, "/"); ok {
					return filepath.Join(outside, out)
				}
				return filepath.Join(dir, name)
			}
			for _, name := range c.files {
				put(t, dir, map[string]string{name: "x"})
			}
			for name, target := range c.links {
				p := place(name)
				if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
					t.Fatal(err)
				}
				switch {
				case strings.HasPrefix(target, "/"):
					target = place(target)
				case strings.HasPrefix(name, "/"):
					target = filepath.Join(real, filepath.Base(target))
				}
				symlink(t, target, p)
			}
			each := func(names []string) (paths []string) {
				for _, n := range names {
					paths = append(paths, place(n))
				}
				return paths
			}
			got, err := CoverWorkspace(t.Context(), dir, each(c.protected), each(c.readOnly))
			if c.refused != "" {
				if err == nil || !strings.Contains(err.Error(), c.refused) {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			inside := func(names string) string {
				var paths []string
				for n := range strings.FieldsSeq(names) {
					paths = append(paths, "/workspace/"+n)
				}
				return fmt.Sprint(paths)
			}
			if fmt.Sprint(got.Masked) != inside(c.masked) || fmt.Sprint(got.Frozen) != inside(c.frozen) {
				t.Errorf("masked %q, frozen %q", got.Masked, got.Frozen)
			}
			if fmt.Sprint(got.Pinned) != inside(c.pinned) {
				t.Errorf("pinned %q", got.Pinned)
			}
			if got.Dir != real || got.UID != uid || got.GID != gid {
				t.Errorf("%+v, want %s %d:%d", got, real, uid, gid)
			}
		})
	}
}

func TestWorkspacesThatAreRefused(t *testing.T) {
	dir, _, _ := someone(t)
	put(t, dir, map[string]string{"file": "x"})
	for name, c := range map[string]struct {
		dir       string
		protected string
		want      string
	}{
		"not there":            {filepath.Join(dir, "none"), dir + "/x", "no such file or directory"},
		"a file":               {filepath.Join(dir, "file"), dir + "/x", "is not a directory"},
		"it is the storage":    {dir, dir, "which must not be visible in the container"},
		"it is in the storage": {dir, filepath.Dir(dir), "which must not be visible in the container"},
		"a relative path":      {dir, "x", "is not an absolute path"},
	} {
		if got, err := CoverWorkspace(t.Context(), c.dir, []string{c.protected}, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	bad := filepath.Join(dir, "\xff")
	if err := os.Mkdir(bad, 0o700); err == nil { // macOS has no such names
		put(t, dir, map[string]string{"\xff/.env": "x"})
		if got, err := CoverWorkspace(t.Context(), dir, nil, nil); err == nil || !strings.Contains(err.Error(), "not UTF-8") {
			t.Errorf("a name that is not UTF-8: %+v, %v", got, err)
		}
	}
}

// A workspace from which the daemon can be reached is none.
func TestWorkspaceWithTheSocket(t *testing.T) {
	dir, _, _ := someone(t)
	put(t, dir, map[string]string{"run/daemon.sock": "", "work/x": ""})
	symlink(t, "run", filepath.Join(dir, "way"))
	d := &Daemon{Host: "unix://" + filepath.Join(dir, "way", "daemon.sock")}
	for name, want := range map[string]bool{"": true, "run": true, "way": true, "work": false} {
		err := d.refuseSocket(filepath.Join(dir, name))
		if got := err != nil; got != want {
			t.Errorf("%q: %v", name, err)
		}
	}
	if err := (&Daemon{Host: "npipe:////./pipe/docker_engine"}).refuseSocket(filepath.Dir("/")); err == nil {
		t.Error("the root of the file system is a workspace")
	}
}

func TestUnprivileged(t *testing.T) {
	for _, c := range []struct{ uid, gid, wantUID, wantGID int }{
		{1000, 1000, 1000, 1000}, {1000, 100, 1000, 100}, {1000, 0, 1000, 1000}, {0, 0, 0, 0}, {0, 1000, 0, 0},
	} {
		uid, gid, err := unprivileged("/srv/work", c.uid, c.gid)
		if uid != c.wantUID || gid != c.wantGID || (err != nil) != (c.uid == 0) {
			t.Errorf("%d:%d: %d:%d, %v", c.uid, c.gid, uid, gid, err)
		}
		if err != nil && !strings.Contains(err.Error(), "the workspace /srv/work belongs to root, and nothing in the container runs as root; give it to a user with: chown -R USER /srv/work") {
			t.Error(err)
		}
	}
}

// A command to paste changes no other directory.
func TestUnprivilegedQuotes(t *testing.T) {
	if _, _, err := unprivileged("/srv/my work", 0, 0); err == nil || !strings.HasSuffix(err.Error(), "chown -R USER '/srv/my work'") {
		t.Error(err)
	}
}

// No message advises to give up what the system needs.
func TestSystemDirectoriesAreKept(t *testing.T) {
	for _, dir := range []string{"/", "/usr", "/home", "/etc/ssl", "/var/lib/x"} {
		if _, _, err := unprivileged(dir, 0, 0); err == nil || strings.Contains(err.Error(), "chown") {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

// What is masked shows nothing inside, and what is frozen cannot be changed, removed or
// replaced; on the host all stays as it was.
func TestMasksHold(t *testing.T) {
	t.Parallel()
	d := realDaemon(t)
	plan := testPlan(t)
	files := map[string]string{
		".env": "SECRET", "sub/deep/.env.local": "SECRET", "perstack/jobs/1/journal": "SECRET", "perstack.toml": "config", "config/real": "SECRET",
		"seen": "seen", "venv/.env/lib/x": "SECRET",
		"sub/.git/HEAD": "ref", "sub/.git/objects/x": "x", "sub/.git/refs/x": "x", "sub/.git/config": "[core]", "sub/.git/hooks/post-commit": "x", "sub/.git/index": "x",
	}
	put(t, plan.cover.Dir, files)
	symlink(t, "../config/real", filepath.Join(plan.cover.Dir, "sub/.env"))
	cover, err := CoverWorkspace(t.Context(), plan.cover.Dir, []string{filepath.Join(plan.cover.Dir, "perstack")},
		[]string{filepath.Join(plan.cover.Dir, "perstack.toml"), filepath.Join(plan.cover.Dir, "perstack.lock")})
	if err != nil {
		t.Fatal(err)
	}
	plan.cover.Masked, plan.cover.Frozen, plan.cover.Pinned = cover.Masked, cover.Frozen, cover.Pinned
	s, _ := buildSite(t, d, plan)

	var inside []string
	for name := range files {
		inside = append(inside, "/workspace/"+name)
	}
	hidden := []string{"/workspace/perstack", "/workspace/venv/.env", "/workspace/sub/.env"}
	fixed := []string{
		"/workspace/perstack.toml", "/workspace/perstack", "/workspace/perstack/x", "/workspace/venv/.env/x",
		"/workspace/sub/.git/config", "/workspace/sub/.git/hooks/pre-push", "/workspace/sub/.git/hooks/post-commit",
	}
	removed := []string{
		"/workspace/perstack.toml", "/workspace/.env", "/workspace/perstack",
		"/workspace/sub/.git/config", "/workspace/sub/.git/hooks",
	}
	saw, _ := enter(t, s, jail.Task{
		Read: slices.Concat(inside, hidden), Write: fixed, Change: []string{"/workspace/perstack.toml"}, Remove: removed,
	})
	for name, text := range saw.Found {
		if strings.HasPrefix(text, "error: ") {
			continue
		}
		if strings.Contains(text, "SECRET") || strings.Contains(text, "jobs") || strings.Contains(text, "lib") {
			t.Errorf("%s shows %q", name, text)
		}
	}
	if saw.Found["/workspace/seen"] != "seen" || saw.Found["/workspace/perstack.toml"] != "config" {
		t.Errorf("what may be seen is %q", saw.Found)
	}
	for _, results := range []map[string]string{saw.Wrote, saw.Changed, saw.Removed} {
		for name, failure := range results {
			if failure == "" {
				t.Errorf("%s was changed", name)
			}
		}
	}
	if len(saw.Wrote) != len(fixed) || len(saw.Changed) != 1 || len(saw.Removed) != len(removed) {
		t.Errorf("not all was tried: %+v", saw)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for name, want := range files {
		if got, err := os.ReadFile(filepath.Join(plan.cover.Dir, name)); err != nil || string(got) != want {
			t.Errorf("on the host %s is %q, %v", name, got, err)
		}
	}
}
