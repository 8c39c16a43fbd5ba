package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/perstack-go/perstack/internal/audit"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/terminal"
)

// save writes the report to two new files. An audit replaces nothing.
func save(h *host.Host, dir string, at time.Time, r *audit.Report) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	defer root.Close()
	var data bytes.Buffer
	if err := host.WriteJSON(&data, r); err != nil {
		return err
	}
	markdown, object := audit.FileNames(at)
	for _, f := range []struct{ name, text string }{{markdown, r.Markdown()}, {object, data.String()}} {
		if err := create(root, f.name, h.Secrets.Redact(f.text)); err != nil {
			if errors.Is(err, fs.ErrExist) {
				return host.Usagef("%s has a report of this second already; try again", terminal.ShellJoin(dir))
			}
			return fmt.Errorf("write the report: %w", err)
		}
		if _, err := fmt.Fprintln(h.Stderr, "Wrote "+terminal.ShellJoin(dir+string(os.PathSeparator)+f.name)); err != nil {
			return err
		}
	}
	return nil
}

// create writes a new file beneath a directory.
func create(root *os.Root, name, text string) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
