package daemon

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

const module = "github.com/perstack-go/perstack"

// perstack is looked for once: tests of one process all have the same.
var perstack = sync.OnceValues(func() (string, error) { return build(module + "/cmd/perstack") })

// Binary returns the path of a static perstack for containers.
func Binary(tb testing.TB) string {
	tb.Helper()
	program, err := perstack()
	if err != nil {
		tb.Fatalf("build perstack: %v", err)
	}
	return program
}

// Program builds a main package of this module, static and for Linux, and returns the path
// of the program. A program that another test built of the very same source is taken as
// it is.
func Program(tb testing.TB, importPath string) string {
	tb.Helper()
	if dir, ok := strings.CutPrefix(importPath, "./"); ok {
		importPath = path.Join(module, dir)
	}
	program, err := build(importPath)
	if err != nil {
		tb.Fatalf("build %s: %v", importPath, err)
	}
	return program
}

// build keeps programs under the digest of everything that is linked into them: a change
// anywhere below gives another name, and a program is never one of another source.
func build(importPath string) (string, error) {
	dir, err := programDir()
	if err != nil {
		return "", err
	}
	before, err := digest(importPath)
	if err != nil {
		return "", err
	}
	base := path.Base(importPath)
	program := filepath.Join(dir, base+"-"+before)
	if _, err := os.Stat(program); err == nil {
		now := time.Now() // still in use
		return program, os.Chtimes(program, now, now)
	}

	// Two test processes may be here at the same time: each builds its own, and the last
	// to finish replaces a file by an equal one.
	scratch, err := os.MkdirTemp(dir, ".build-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(scratch)
	fresh := filepath.Join(scratch, base)
	if _, err := goTool("build", "-trimpath", "-buildvcs=false", "-o", fresh, importPath); err != nil {
		return "", err
	}
	if after, err := digest(importPath); err != nil || after != before {
		return "", errors.Join(errors.New("the source changed while it was built; run the test again"), err)
	}
	if err := os.Rename(fresh, program); err != nil {
		return "", err
	}
	clearOut(dir)
	return program, nil
}

func digest(importPath string) (string, error) {
	parts, err := goTool("list", "-export", "-deps", "-trimpath", "-buildvcs=false", "-f", "{{.ImportPath}} {{.BuildID}}", importPath)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(parts)
	return hex.EncodeToString(sum[:12]), nil
}

// programDir is the directory of programs. It is in the user's cache, where no other user can
// put a program under a name that we would trust.
func programDir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		// Without a home, Go itself needs this variable.
		if cache = os.Getenv("GOCACHE"); cache == "" {
			return "", err
		}
	}
	dir := filepath.Join(cache, "perstack-test", "linux-"+runtime.GOARCH)
	return dir, os.MkdirAll(dir, 0o700)
}

// clearOut removes programs that no test has used for a day.
func clearOut(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > 24*time.Hour {
			os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
}

func goTool(args ...string) ([]byte, error) {
	cmd := exec.CommandContext(context.Background(), "go", args...) // for all tests of the process
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+runtime.GOARCH)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", args[0], err, stderr.String())
	}
	return out, nil
}
