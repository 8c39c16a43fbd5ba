package host

import (
	"os"
	"path/filepath"
	"time"

	"github.com/perstack-go/perstack/internal/credentials"
	"github.com/perstack-go/perstack/internal/sandbox"
)

// LoginPath returns the path of the login file; "" if it is not known. Neither an env file nor a
// flag can name another one.
func (h *Host) LoginPath() string {
	path := h.UserConfigPath()
	if path == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(path), credentials.FileName)
}

// Credentials returns the logins of the user. A login file or a helper that a job or the author of
// the project can have written is refused. Helpers are started by commands.
func (h *Host) Credentials(project, workspace string, commands *sandbox.Supervisor) (*credentials.Store, error) {
	path := h.LoginPath()
	if path == "" {
		return nil, Usagef("the home directory is not known, so there is no place for logins; set HOME")
	}
	if _, err := os.Lstat(path); err == nil {
		if err := h.planted(path, project, workspace); err != nil {
			return nil, Usagef("%s is not used: %w; move it to another directory, or work in another one", path, err)
		}
	}
	return &credentials.Store{
		File: credentials.File{Path: path}, Secrets: &h.Secrets, Now: func() time.Time { return h.Source.Now() },
		Helpers: credentials.Helpers{
			Commands: commands, Environ: h.Environ, Dir: h.Dir,
			Check: func(path string) error { return h.planted(path, project, workspace) },
		},
	}, nil
}

// HideLogins adds the keys of the login file to the secrets that are not printed. A file that cannot
// be used is an error: its keys could not be hidden.
func (h *Host) HideLogins(project, workspace string) error {
	if h.LoginPath() == "" {
		return nil
	}
	store, err := h.Credentials(project, workspace, nil)
	if err != nil {
		return err
	}
	logins, err := store.File.Load()
	if err != nil {
		return &ExitError{Code: ExitUsage, Err: err}
	}
	logins.Hide(&h.Secrets)
	return nil
}
