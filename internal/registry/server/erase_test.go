package server

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// The files of a registry do not have the text of a version any more when it was unpublished.
func TestErasedText(t *testing.T) {
	s := newSite(t, filepath.Join(t.TempDir(), "registry.db"))
	acme := s.org("acme", Team)
	secret := []byte("aVeryUnlikelyWord")
	s.mustPublish(acme, bytes.Replace(content("@acme/lead", "1.0.0"), []byte("Work."), secret, 1))
	s.mustPublish(acme, content("@acme/lead", "1.0.1"))
	has := func() (found bool) {
		for _, suffix := range []string{"", "-wal"} {
			data, err := os.ReadFile(s.address + suffix)
			if err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			found = found || bytes.Contains(data, secret)
		}
		return found
	}
	if !has() {
		t.Fatal("the text is not where the test looks for it")
	}
	if err := s.Unpublish(t.Context(), acme, "@acme/lead@1.0.0"); err != nil {
		t.Fatal(err)
	}
	if has() {
		t.Error("a file still has the text")
	}
}
