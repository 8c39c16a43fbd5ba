package daemon

import (
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/moby/moby/client"

	"github.com/perstack-go/perstack/internal/runtimes/docker/archive"
)

// Image makes an image of static programs, by their paths in it, and returns its name. It
// has /tmp, and nothing else. The image and its name are removed when the test ends.
func Image(tb testing.TB, programs map[string]string) string {
	tb.Helper()
	files := []archive.File{{Path: "/tmp", Mode: 0o1777}}
	for _, name := range slices.Sorted(maps.Keys(programs)) {
		files = append(files, archive.File{Path: name, Mode: 0o755, Body: open(tb, programs[name])})
	}
	return Load(tb, archive.Config{}, files)
}

func open(tb testing.TB, path string) *io.SectionReader {
	tb.Helper()
	f, err := os.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { f.Close() })
	info, err := f.Stat()
	if err != nil {
		tb.Fatal(err)
	}
	return io.NewSectionReader(f, 0, info.Size())
}

// Load makes an image of these files and returns its name.
func Load(tb testing.TB, config archive.Config, files []archive.File) string {
	tb.Helper()
	return loadImage(tb, config, files, true)
}

// loadImage makes an image of these files. One of the test's own is returned by its name;
// one that others may have too, by its id.
func loadImage(tb testing.TB, config archive.Config, files []archive.File, own bool) string {
	tb.Helper()
	api := Need(tb)
	layer, err := archive.NewLayer(files)
	if err != nil {
		tb.Fatal(err)
	}
	tag := Name(tb) + ":1"
	// With a label of its own, an image is this test's alone.
	labels := map[string]string{"dev.perstack.test": "shared"}
	if own {
		labels["dev.perstack.test"] = tag
	}
	maps.Copy(labels, config.Labels)
	config.Labels = labels
	image := archive.Image{Arch: runtime.GOARCH, Config: config}

	RemoveImage(tb, api, tag)
	r, w := io.Pipe()
	go func() { w.CloseWithError(image.Write(w, tag, layer)) }()
	defer r.Close()
	result, err := api.ImageLoad(tb.Context(), r, client.ImageLoadWithQuiet(true))
	if err != nil {
		tb.Fatalf("load %s: %v", tag, err)
	}
	defer result.Close()
	said, err := io.ReadAll(io.LimitReader(result, 1<<20))
	if err != nil || strings.Contains(string(said), `"error"`) {
		tb.Fatalf("load %s: %v, %s", tag, err, said)
	}
	if own {
		return tag
	}
	found, err := api.ImageInspect(tb.Context(), tag)
	if err != nil {
		tb.Fatal(err)
	}
	return found.ID
}
