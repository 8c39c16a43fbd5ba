package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Directories that were opened while a job runs can be read and not changed, at every level. A link in
// place of one, or of a directory above it, is not followed.
func TestOpenedDirectories(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(top, name) }
	for _, name := range []string{"open/f", "open/below/f", "secret/f", "secret/sub/f", "file"} {
		write(t, at(name), "content of "+name+"\n")
	}
	for link, target := range map[string]string{"link": "secret", "above": "secret"} {
		if err := os.Symlink(target, at(link)); err != nil {
			t.Fatal(err)
		}
	}
	opened := []string{at("open"), at("link"), at("above/sub"), at("file"), at("absent")}
	const script = `cat open/f open/below/f secret/f secret/sub/f link/f above/sub/f file; echo x >open/f; echo x >open/new; rm open/f`
	for name, c := range map[string]Command{"landlock": confined(t, shell(t, "")), "full": inside(t, shell(t, ""))} {
		t.Run(name, func(t *testing.T) {
			c.Policy.Opened = opened
			got := said(t, supervisor(t), sh(c, "cd "+top+"; "+script))
			if !strings.Contains(got, "content of open/f\ncontent of open/below/f\n") || strings.Contains(got, "content of secret") || strings.Contains(got, "content of file") {
				t.Errorf("it could read:\n%s", got)
			}
		})
	}
	if content, err := os.ReadFile(at("open/f")); err != nil || string(content) != "content of open/f\n" {
		t.Errorf("the file is %q, %v", content, err)
	}
}
