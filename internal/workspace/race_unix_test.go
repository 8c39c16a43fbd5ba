//go:build unix

package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// A directory and a file are swapped for links to the outside, to the storage and to
// a pipe, over and over, while files are read, written and listed through them (rows
// B8 and N11). Nothing may be read or written outside the workspace, and nothing may hang.
func TestSwappedWhileUsed(t *testing.T) {
	for _, target := range []string{"../outside", "perstack/jobs", "pipe"} {
		t.Run(strings.ReplaceAll(target, "/", "_"), func(t *testing.T) {
			h := newFixture(t)
			put(t, filepath.Join(h.dir, "d", "secret.txt"), "inside")
			put(t, filepath.Join(h.dir, "d", "j1"), "inside")
			put(t, filepath.Join(h.dir, "f"), "inside")
			if target == "pipe" {
				makePipe(t, filepath.Join(h.dir, "swap"))
				makePipe(t, filepath.Join(h.dir, "swapFile"))
			} else {
				h.link(t, target, "swap")
				h.link(t, target+"/j1", "swapFile")
			}
			before := tree(t, h.outside) + tree(t, filepath.Join(h.dir, "perstack"))

			stop := make(chan struct{})
			swaps := 0
			var swapper, users sync.WaitGroup
			swapper.Go(func() {
				in := func(name string) string { return filepath.Join(h.dir, name) }
				for {
					select {
					case <-stop:
						return
					default:
					}
					swaps++
					for _, pair := range [][2]string{{"d", "swap"}, {"f", "swapFile"}} {
						exchange(in(pair[0]), in(pair[1]))
					}
				}
			})
			rounds := 3000
			if testing.Short() {
				rounds = 500
			}
			users.Go(func() {
				for range rounds {
					for _, name := range []string{"d/secret.txt", "d/j1", "f"} {
						if text, _ := h.read(name); strings.Contains(text, canary) {
							t.Errorf("read outside the workspace through %s", name)
							return
						}
					}
				}
			})
			users.Go(func() {
				for range rounds {
					h.WriteFile(t.Context(), "d/planted", []byte("x"))
					h.WriteFile(t.Context(), "d/new/planted", []byte("x"))
				}
			})
			users.Go(func() {
				for range rounds {
					l, err := h.ReadDir(t.Context(), "d", 0, 100)
					if err != nil {
						continue
					}
					for _, e := range l.Entries {
						if e.Name == "j1" && e.Size == int64(len(canary)) {
							t.Error("listed outside the workspace")
							return
						}
					}
					if d, err := h.OpenDir(t.Context(), "d"); err == nil {
						d.Close()
					}
				}
			})
			users.Wait()
			close(stop)
			swapper.Wait()
			t.Logf("%d swaps", swaps)
			if after := tree(t, h.outside) + tree(t, filepath.Join(h.dir, "perstack")); after != before {
				t.Errorf("changed outside the workspace:\n%s\nbefore:\n%s", after, before)
			}
		})
	}
}

func makePipe(t testing.TB, path string) {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o666); err != nil {
		t.Fatal(err)
	}
}

// tree lists names and contents below dir.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var out strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		out.WriteString(path)
		if d.Type().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			out.Write(data)
		}
		out.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}
