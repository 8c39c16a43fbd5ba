package base

import (
	"math"
	"testing"
)

func TestTypeOf(t *testing.T) {
	for name, want := range map[string]string{
		"a.png": "image/png", "a.jpg": "image/jpeg", "a.jpeg": "image/jpeg", "a.jpe": "image/jpeg", "a.gif": "image/gif", "a.webp": "image/webp",
		"a.pdf": "application/pdf", "a.txt": "text/plain", "a.log": "text/plain", "a.ini": "text/plain", "a.md": "text/markdown",
		"a.json": "application/json", "a.js": "text/javascript", "a.mjs": "text/javascript", "a.toml": "application/toml", "a.yaml": "text/yaml",
		"a.csv": "text/csv", "a.html": "text/html", "a.svg": "image/svg+xml", "a.ts": "text/typescript", "a.go": "text/x-go",
		"A.PNG": "image/png", "a.tar.gz": "application/gzip", ".hidden.txt": "text/plain",
		"a.unknown": "application/octet-stream", "Makefile": "application/octet-stream", ".env": "application/octet-stream", "a.": "application/octet-stream",
		"txt": "application/octet-stream", "a.txt md": "application/octet-stream",
	} {
		if got := typeOf(extension(name)); got != want {
			t.Errorf("%s has type %s, want %s", name, got, want)
		}
	}
}

func TestExtension(t *testing.T) {
	for name, want := range map[string]string{"a.tar.gz": ".gz", "Makefile": "", ".env": "", "a.": ".", "": "", ".a.b": ".b", "A.Txt": ".Txt"} {
		if got := extension(name); got != want {
			t.Errorf("extension(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestFormatSize(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 1: "1.00 B", 13: "13.00 B", 1023: "1023.00 B", 1024: "1.00 KB", 1536: "1.50 KB", 1 << 20: "1.00 MB",
		1<<20 - 1:     "1.00 MB", // not 1024.00 KB
		1<<20 - 6:     "1023.99 KB",
		1<<20 - 5:     "1.00 MB", // 1023.9951 KB
		1<<30 - 1:     "1.00 GB",
		1 << 40:       "1.00 TB",
		1 << 50:       "1.00 PB",
		math.MaxInt64: "8.00 EB",
	} {
		if got := formatSize(n); got != want {
			t.Errorf("formatSize(%d) = %q, want %q", n, got, want)
		}
	}
}
