package base_test

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// N11: a directory is exchanged for a link that leads out, again and again, while every
// tool works on what is in it. Whatever a call meets, it is the directory or a refusal.
// It is on Linux because only there a test can exchange two names in one instant; the
// race for other systems is in internal/workspace.
func TestN11Swapped(t *testing.T) {
	b := newBench(t)
	b.put("../outside/sub/deep.txt", canary)
	b.put("../outside/x.png", pngFile+canary)
	before := b.tree()
	b.link("../outside", "link")
	b.put("d/secret.txt", "mine")
	// What calls use up is put back by way of a handle, which no exchange misleads.
	inner, err := os.OpenRoot(filepath.Join(b.dir, "d"))
	if err != nil {
		t.Fatal(err)
	}
	defer inner.Close()
	refill := func() {
		if err := inner.Mkdir("sub", 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"secret.txt": "mine", "x.png": pngFile, "sub/deep.txt": "mine"} {
			if err := inner.WriteFile(name, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		for _, err := range []error{inner.RemoveAll("made"), inner.RemoveAll("moved"), os.RemoveAll(filepath.Join(b.dir, "moved"))} {
			if err != nil {
				t.Fatal(err)
			}
		}
		b.put("a.txt", "alpha")
	}

	stop := make(chan struct{})
	var swapping sync.WaitGroup
	swapping.Go(func() {
		one, other := filepath.Join(b.dir, "d"), filepath.Join(b.dir, "link")
		for {
			select {
			case <-stop:
				return
			default:
			}
			if err := unix.Renameat2(unix.AT_FDCWD, one, unix.AT_FDCWD, other, unix.RENAME_EXCHANGE); err != nil {
				t.Errorf("exchange: %v", err)
				return
			}
		}
	})

	met := map[string]int{}
	for round := 0; round < 100 || round < 20_000 && (met["outside_workspace"] == 0 || met["done"] == 0); round++ {
		refill()
		for _, w := range ways() {
			path := "d/secret.txt"
			switch {
			case w.tool == "exec", w.tool == "listDirectory", w.tool == "deleteDirectory":
				path = "d/sub"
			case w.tool == "readImageFile":
				path = "d/x.png"
			case w.tool == "createDirectory":
				path = "d/made"
			case w.argument == "destination":
				path = "d/moved"
			}
			args := object{w.argument: path}
			maps.Copy(args, w.rest)
			if w.tool == "exec" {
				if round%20 > 0 {
					continue // starting a program takes longer than all other calls together
				}
				args["command"], args["args"] = "cat", []string{"deep.txt"}
			}
			text, r := b.call(w.tool, args)
			b.checkSecrets(path, r)
			code := "done"
			if r.IsError {
				code, _ = fields(t, text)["code"].(string)
			}
			met[code]++
		}
	}
	close(stop)
	swapping.Wait()

	if met["outside_workspace"] == 0 || met["done"] == 0 {
		t.Errorf("the calls never met both the directory and the link: %v", met)
	}
	b.safe(before)
}
