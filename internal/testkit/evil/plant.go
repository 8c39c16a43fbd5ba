package evil

import (
	"os"
	"path/filepath"
	"strings"
)

// The codes of internal/workspace. They are written out: this is the other side, and a
// code that is renamed there must be noticed here.
const (
	outside     = "outside_workspace"
	protected   = "protected"
	notFound    = "not_found"
	invalid     = "invalid_path"
	notRegular  = "not_regular"
	notADir     = "not_a_directory"
	isADir      = "is_a_directory"
	notWritable = "not_writable"
	notReadable = "not_readable"
)

// try plants something that not every system can have. What it cannot is left out, and
// said.
func (t *Tree) try(id, path, what string, expect map[Op]string, plant func(path string) error) {
	target := t.in(path)
	err := os.MkdirAll(filepath.Dir(target), 0o755)
	if err == nil {
		err = plant(target)
	}
	if err != nil {
		t.LeftOut[id] = err.Error()
		return
	}
	t.attack(id, path, what, expect)
}

// plantProtected makes the files that no tool may touch: env files in several
// spellings, and the history of a job.
func (t *Tree) plantProtected() error {
	for id, name := range map[string]string{
		"env":            ".env",
		"env-local":      ".env.local",
		"env-production": "sub/.env.production",
		"storage-job":    "perstack/jobs/x/job.json",
		"journal":        "perstack/jobs/x/journal.jsonl",
	} {
		if err := t.file(t.in(name), "SECRET="+t.canary(name)+"\n", 0o600); err != nil {
			return err
		}
		t.attack(id, name, "file", all(protected))
	}
	t.attack("storage", "perstack", "directory", all(protected))
	t.attack("storage-jobs", "perstack/jobs", "directory", all(protected))
	t.attack("storage-new", "perstack/jobs/y/journal.jsonl", "nothing", all(protected))
	t.attack("env-new", "new/.env", "nothing", all(protected))

	// Files of their own here, and the protected ones on a file system that folds names.
	for id, name := range map[string]string{
		"env-upper":      ".ENV",
		"env-mixed":      "sub/.eNv.Local",
		"env-fullwidth":  ".ｅｎｖ",
		"env-zero-width": ".e\u200bnv",
		"env-direction":  ".en\u200ev",
		"env-selector":   ".env\ufe0f",
		"env-long-s":     "sub/.env.\u017fecret",
		"env-nfd":        "sub/.env.secre\u0301t",
		"env-dot":        ".env.",
		"env-blank":      ".env ",
	} {
		value := t.canary(name)
		t.try(id, name, "file", all(protected), func(path string) error {
			if _, err := os.Lstat(path); err == nil {
				return nil // this file system finds another by this name
			}
			return os.WriteFile(path, []byte("SECRET="+value+"\n"), 0o600)
		})
	}
	// Directories that look like the storage. They are not it, and hold nothing.
	for id, name := range map[string]string{
		"storage-upper":      "PERSTACK",
		"storage-fullwidth":  "ｐerstack",
		"storage-zero-width": "per\u200dstack",
	} {
		t.attack(id, name, "nothing", all(protected))
		t.attack(id+"-below", name+"/jobs/x/journal.jsonl", "nothing", all(protected))
	}
	// A directory that holds an env file is not emptied with it.
	if err := t.file(t.in("holder/.env"), "SECRET="+t.canary("holder/.env")+"\n", 0o600); err != nil {
		return err
	}
	t.attack("env-holder", "holder", "directory", map[Op]string{Read: isADir, Write: isADir, Info: Works})
	// A sample is for reading.
	t.try("env-example", ".env.example", "file", map[Op]string{Read: Works, Info: Works}, func(path string) error {
		return os.WriteFile(path, []byte("KEY=put-your-key-here\n"), 0o644)
	})
	return nil
}

// plantLinks makes links that lead out, to what is protected, in circles, or nowhere.
func (t *Tree) plantLinks() error {
	abs := func(parts ...string) string { return filepath.Join(append([]string{t.Outside}, parts...)...) }
	for _, l := range []struct {
		id, name, target string
		expect           map[Op]string
	}{
		{"link-file", "links/file", "../../outside/secret.txt", through(outside)},
		{"link-file-absolute", "links/file-absolute", abs("secret.txt"), through(outside)},
		{"link-directory", "links/directory", "../../outside", through(outside)},
		{"link-directory-absolute", "links/directory-absolute", abs(), through(outside)},
		{"link-picture", "links/picture.png", "../../outside/picture.png", through(outside)},
		{"link-paper", "links/paper.pdf", abs("paper.pdf"), through(outside)},
		{"link-new-file", "links/new-file", "../../outside/new.txt", through(outside)},
		{"link-root", "links/root", "/", through(outside)},
		{"link-proc", "links/proc", "/proc/self/cwd", through(outside)},
		{"link-inside-absolute", "links/inside-absolute", t.in("plain.txt"), through(outside)}, // a link is relative, or it is not followed
		{"link-chain", "links/chain", "chained", through(outside)},
		{"link-chained", "links/chained", "./chained-again", through(outside)},
		{"link-chained-again", "links/chained-again", "../links/../../outside/secret.txt", through(outside)},
		{"link-loop", "links/loop", "loop", through(invalid)},
		{"link-loop-two", "links/loop-a", "loop-b", through(invalid)},
		{"link-loop-back", "links/loop-b", "loop-a", through(invalid)},
		{"link-dangling", "links/dangling", "nowhere", through(notFound)},
		{"link-env", "links/env", "../.env", through(protected)},
		{"link-storage", "links/p", "../perstack", through(protected)},
		{"link-journal", "links/journal", "../perstack/jobs/x/journal.jsonl", through(protected)},
		{"link-up-and-down", "links/up", "../../ws/perstack", through(outside)},
	} {
		t.try(l.id, l.name, "link", l.expect, func(path string) error { return os.Symlink(filepath.FromSlash(l.target), path) })
	}
	// A link in the middle: what is behind it is not ours to delete or move either. These
	// links are no attacks themselves, so that one that is deleted does not spare us the
	// rest.
	for name, target := range map[string]string{
		"via/directory": "../../outside", "via/absolute": abs(), "via/root": "/", "via/p": "../perstack", "via/proc": "/proc/self/cwd", "via/g": "../.git",
	} {
		if err := t.file(t.in("via/.keep"), "", 0o644); err != nil {
			return err
		}
		if err := os.Symlink(filepath.FromSlash(target), t.in(name)); err != nil {
			t.LeftOut[name] = err.Error()
		}
	}
	t.attack("middle-file", "via/directory/secret.txt", "file", all(outside))
	t.attack("middle-new", "via/directory/new/new.txt", "nothing", all(outside))
	t.attack("middle-directory", "via/directory/deep", "directory", all(outside))
	t.attack("middle-absolute", "via/absolute/secret.txt", "file", all(outside))
	t.attack("middle-up", "via/directory/../ws/plain.txt", "file", all(outside))
	t.attack("middle-root", "via/root/etc/passwd", "file", all(outside))
	t.attack("middle-storage", "via/p/jobs/x/journal.jsonl", "file", all(protected))
	t.attack("middle-proc", "via/proc/perstack/jobs", "directory", all(outside))
	// The good one, so that a check that refuses every link is noticed.
	t.try("link-inside", "links/inside", "link", map[Op]string{Read: Works, Info: Works}, func(path string) error {
		return os.Symlink(filepath.FromSlash("../plain.txt"), path)
	})
	return nil
}

// plantTwins makes hard links: one file, two names.
func (t *Tree) plantTwins() error {
	for _, l := range []struct{ id, name, of string }{
		{"twin-env", "twin-env.txt", t.in(".env")},
		{"twin-journal", "sub/twin-journal.txt", t.Journal},
	} {
		t.try(l.id, l.name, "file", map[Op]string{Read: protected}, func(path string) error { return os.Link(l.of, path) })
	}
	return nil
}

// spell has no files of its own: only spellings of paths.
func (t *Tree) spell() error {
	for id, path := range map[string]string{
		"up":              "../outside/secret.txt",
		"up-far":          strings.Repeat("../", 40) + "etc/passwd",
		"up-in-the-path":  "dir/../../outside/secret.txt",
		"absolute":        filepath.Join(t.Outside, "secret.txt"),
		"absolute-up":     t.Root + "/../outside/secret.txt",
		"absolute-system": "/etc/passwd",
		"sibling":         "../wsfoo/secret.txt",
		"sibling-full":    t.Root + "foo/secret.txt",
		"proc-cwd":        "/proc/self/cwd/perstack/jobs/x/journal.jsonl",
		"proc-root":       "/proc/self/root" + filepath.Join(t.Outside, "secret.txt"),
		"proc-environ":    "/proc/self/environ",
		"device":          "/dev/zero",
		"home":            "~/.ssh/id_rsa",
	} {
		t.attack(id, path, "file", all(outside))
	}
	t.attack("storage-absolute", t.Journal, "file", all(protected))
	t.attack("storage-around", "dir/../perstack/jobs/x/journal.jsonl", "file", all(protected))
	t.attack("storage-slashes", ".//perstack//jobs", "directory", all(protected))
	t.attack("nul", "plain.txt\x00.png", "nothing", all(invalid))
	t.attack("file-as-directory", "plain.txt/x", "nothing", all(notADir))
	t.attack("name-too-long", strings.Repeat("n", 300), "nothing", but(all(invalid), map[Op]string{List: "", Cwd: ""}))
	t.attack("path-too-long", strings.Repeat("long/", 2000), "nothing", all(invalid))
	t.attack("root", ".", "directory", map[Op]string{Read: isADir, Write: isADir, List: Works, Info: Works, Cwd: Works})
	// A directory that no other path goes through: the calls of a step run side by side, and one
	// of them may move it away.
	t.attack("directory-as-file", "folder", "directory", map[Op]string{Read: isADir, Write: isADir, List: Works, Info: Works})
	return nil
}
