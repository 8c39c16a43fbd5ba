package probes

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/perstack-go/perstack/internal/audit"
	"github.com/perstack-go/perstack/internal/userfile"
	"github.com/perstack-go/perstack/internal/workspace"
)

// hostileWorkspace makes a workspace with every kind of way out of it, and a secret beside it.
func (m *Machine) hostileWorkspace() (dir, outside string, err error) {
	top, err := m.dir("files")
	if err != nil {
		return "", "", err
	}
	dir, outside = filepath.Join(top, "ws"), filepath.Join(top, "outside")
	secret := filepath.Join(outside, "secret")
	err = errors.Join(
		os.MkdirAll(filepath.Join(dir, "sub"), 0o700), os.MkdirAll(outside, 0o700),
		os.WriteFile(secret, []byte(canary), 0o600),
		os.WriteFile(filepath.Join(dir, "plain"), []byte("plain"), 0o600),
		os.Symlink(secret, filepath.Join(dir, "absolute")),
		os.Symlink("../outside/secret", filepath.Join(dir, "relative")),
		os.Symlink("../outside", filepath.Join(dir, "middle")),
		os.Symlink("absolute", filepath.Join(dir, "chain")),
		os.Symlink("loop", filepath.Join(dir, "loop")),
	)
	if err == nil && runtime.GOOS == "linux" {
		err = os.Symlink("/proc/self/cwd/../../../../../../../..", filepath.Join(dir, "proc"))
	}
	return dir, outside, err
}

// outOfWorkspace attacks F1.
func (m *Machine) outOfWorkspace(ctx context.Context) audit.Result {
	dir, outside, err := m.hostileWorkspace()
	if err != nil {
		return noStart(err)
	}
	secret := filepath.Join(outside, "secret")
	if data, err := userfile.Read(filepath.Join(dir, "absolute"), 1<<10); err != nil || string(data) != canary {
		return noControl("the links do not lead to the file outside")
	}
	pipe := makePipe(filepath.Join(dir, "pipe"))
	ws, err := m.Parts.Workspace(dir, workspace.Options{})
	if err != nil {
		return noStart(err)
	}
	defer ws.Close()
	attempts := []string{
		"absolute", "relative", "middle/secret", "chain", "loop", "../outside/secret", "sub/../../outside/secret", secret,
		"proc" + secret, "/proc/self/root" + secret, "/dev/zero", "sub/./../../outside/secret",
	}
	if pipe == nil {
		attempts = append(attempts, "pipe") // which never gives an answer to a reader
	}
	for _, name := range attempts {
		if _, data, err := ws.ReadFile(ctx, name, 1<<10); err == nil {
			return audit.Break(audit.BuiltIn, "%q was read, with %d bytes", name, len(data))
		}
		if _, err := ws.WriteFile(ctx, name, []byte("x")); err == nil && name != "loop" && name != "pipe" {
			if data, _ := userfile.Read(secret, 1<<10); string(data) != canary {
				return audit.Break(audit.BuiltIn, "%q was written outside", name)
			}
		}
	}
	if data, err := userfile.Read(secret, 1<<10); err != nil || string(data) != canary {
		return audit.Break(audit.BuiltIn, "the file outside was changed")
	}
	if _, err := ws.WriteFile(ctx, "middle/new", []byte("x")); err == nil {
		return audit.Break(audit.BuiltIn, "a file was made through a link to a directory outside")
	}
	if _, data, err := ws.ReadFile(ctx, "plain", 1<<10); err != nil || string(data) != "plain" {
		return noControl("the file tools read no file at all")
	}
	return audit.Hold(audit.BuiltIn, "%d ways out were refused for reading and writing: links, parents, absolute paths, /proc, devices and pipes", len(attempts))
}

// ownDirectory attacks F2.
func (m *Machine) ownDirectory(ctx context.Context) audit.Result {
	dir, err := m.dir("own")
	if err != nil {
		return noStart(err)
	}
	own := filepath.Join(dir, "perstack")
	err = errors.Join(
		os.MkdirAll(filepath.Join(own, "jobs"), 0o700),
		os.WriteFile(filepath.Join(own, "jobs", "x"), []byte(canary), 0o600),
		os.WriteFile(filepath.Join(dir, "plain"), []byte("plain"), 0o600),
		os.Symlink("perstack", filepath.Join(dir, "link")),
	)
	if err != nil {
		return noStart(err)
	}
	ws, err := m.Parts.Workspace(dir, workspace.Options{Protected: []string{own}})
	if err != nil {
		return noStart(err)
	}
	defer ws.Close()
	if _, _, err := ws.ReadFile(ctx, "plain", 1<<10); err != nil {
		return noControl("the file tools read no file at all")
	}
	attempts := []string{"perstack/jobs/x", "./perstack//jobs/x", "link/jobs/x", "perstack/../perstack/jobs/x", filepath.Join(own, "jobs", "x"), "PERSTACK/jobs/x", "ｐerstack/jobs/x"}
	for _, name := range attempts {
		if _, data, err := ws.ReadFile(ctx, name, 1<<10); err == nil && strings.Contains(string(data), canary) {
			return audit.Break(audit.BuiltIn, "the directory of perstack was read as %q", name)
		}
		if _, err := ws.WriteFile(ctx, name+"2", []byte("x")); err == nil {
			if left, _ := userfile.Names(filepath.Join(own, "jobs"), 10); len(left) > 1 {
				return audit.Break(audit.BuiltIn, "the directory of perstack was written as %q", name)
			}
		}
	}
	return audit.Hold(audit.BuiltIn, "%d spellings of a protected directory were refused, a link among them", len(attempts))
}

// replaced attacks F3.
func (m *Machine) replaced(ctx context.Context) audit.Result {
	dir, err := m.dir("write")
	if err != nil {
		return noStart(err)
	}
	path := filepath.Join(dir, "a")
	other := filepath.Join(dir, "other")
	if err := errors.Join(os.WriteFile(path, []byte("old"), 0o640), os.Link(path, other)); err != nil {
		return noStart(err)
	}
	ws, err := m.Parts.Workspace(dir, workspace.Options{})
	if err != nil {
		return noStart(err)
	}
	defer ws.Close()
	if _, err := ws.WriteFile(ctx, "a", []byte("new")); err != nil {
		return noControl(err.Error())
	}
	// A file that is replaced leaves what has another name for the old one as it was.
	if data, err := userfile.Read(other, 1<<10); err != nil || string(data) != "old" {
		return audit.Break(audit.BuiltIn, "a write changed the old file in place: a reader, or a crash, would see half of it")
	}
	if data, err := userfile.Read(path, 1<<10); err != nil || string(data) != "new" {
		return audit.Break(audit.BuiltIn, "the new content is missing")
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o640 {
		return audit.Break(audit.BuiltIn, "the mode of the file changed")
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := ws.WriteFile(cancelled, "a", []byte("half")); err == nil {
		return noControl("a cancelled write succeeds")
	}
	if data, err := userfile.Read(path, 1<<10); err != nil || string(data) != "new" {
		return audit.Break(audit.BuiltIn, "a write that failed changed the file")
	}
	if names, err := userfile.Names(dir, 10); err != nil || len(names) != 2 {
		return audit.Break(audit.BuiltIn, "a write left other files behind: %v", names)
	}
	return audit.Hold(audit.BuiltIn, "a write replaced the file at once and kept its mode, and a failed write left the old content")
}
