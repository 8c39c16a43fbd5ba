package base_test

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit/evil"
)

// N11: another process exchanges a directory for a link that leads out, 300,000 times,
// while every tool works on what is in it. Whatever a call meets, it is the directory or
// a refusal. It is on Linux because only there a test can exchange two names in one instant; the
// race for other systems is in internal/workspace.
func TestN11Swapped(t *testing.T) {
	b := newBench(t)
	b.put("../outside/sub/deep.txt", canary)
	b.put("../outside/x.png", pngFile+canary)
	before := b.tree()
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

	const swaps = 300_000
	swapper := evil.StartSwapping(t, swaps, evil.Swap{
		Name: filepath.Join(b.dir, "d"), Other: filepath.Join(b.dir, "link"), Target: "../outside",
	})
	met := map[string]int{}
	for round, swapping := 0, true; swapping; round++ {
		select {
		case <-swapper.Done():
			swapping = false
		default:
		}
		refill()
		for _, w := range ways() {
			path := "d/secret.txt"
			switch {
			case w.tool == "exec", w.tool == "listDirectory", w.tool == "glob", w.tool == "deleteDirectory":
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
	if n := swapper.Stop(); n != swaps {
		t.Errorf("%d swaps", n)
	}
	if met["outside_workspace"] == 0 || met["done"] == 0 {
		t.Errorf("the calls never met both the directory and the link: %v", met)
	}
	b.safe(before)
}
