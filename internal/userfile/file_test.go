package userfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadFile(t *testing.T) {
	path := write(t, filepath.Join(t.TempDir(), "f"), strings.Repeat("x", 1<<20))
	if data, err := Read(path, 1<<20); err != nil || len(data) != 1<<20 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	for path, want := range map[string]string{
		write(t, path+"2", strings.Repeat("x", 1<<20+1)): "larger than 1 MiB",
		filepath.Dir(path): "not a regular file",
		path + "3":         "no such file or directory",
	} {
		if _, err := Read(path, 1<<20); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", path, err, want)
		}
	}
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
