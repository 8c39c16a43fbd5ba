package host

import (
	"errors"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/perstack-go/perstack/internal/consent"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/userfile"
)

// UserConfigPath returns the path of the user's own configuration; "" if it is not known.
// Neither an env file nor a flag can name another: it is what the user says himself.
func (h *Host) UserConfigPath() string {
	var dir string
	switch {
	case runtime.GOOS == "windows":
		dir = h.Getenv("AppData")
	case runtime.GOOS == "darwin" && h.Home != "":
		dir = filepath.Join(h.Home, "Library", "Application Support")
	case filepath.IsAbs(h.Getenv("XDG_CONFIG_HOME")): // a relative path is not valid: it would depend on the working directory
		dir = h.Getenv("XDG_CONFIG_HOME")
	case h.Home != "":
		dir = filepath.Join(h.Home, ".config")
	}
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "perstack", manifest.UserFileName)
}

// maxUserConfig bounds the user's configuration: 1 MiB.
const maxUserConfig = 1 << 20

// userConfig reads the user's configuration; an empty one if there is none. One that a job or
// the author of the project could have written is refused.
func (h *Host) userConfig(project, workspace string) (*manifest.UserConfig, error) {
	path := h.UserConfigPath()
	if path == "" {
		return &manifest.UserConfig{}, nil
	}
	data, err := userfile.ReadOwn(path, maxUserConfig)
	switch {
	case userfile.Absent(err):
		return &manifest.UserConfig{}, nil
	case errors.Is(err, userfile.ErrShared), errors.Is(err, userfile.ErrSharedDir):
		return nil, Usagef("%s is not used: %w; run: chmod go-w %s", path, err, ShellJoin(filepath.Dir(path), path))
	case err != nil:
		return nil, Usagef("the configuration %s cannot be used: %w", path, err)
	}
	real := consent.Resolve(path)
	switch {
	case consent.Below(real, workspace):
		err = errors.New("it is in the workspace, where a job can change it")
	case consent.Below(real, project) && !consent.Below(consent.Resolve(h.Home), project):
		err = errors.New("it is in the project, whose author can have written it")
	}
	if err != nil {
		return nil, Usagef("%s is not used: %w; move it to another directory, or work in another one", path, err)
	}
	config, problems := manifest.ParseUser(path, data)
	return config, problems.Err()
}

// allows reports whether the user's configuration allows a kind of requests in a project.
func (h *Host) allows(config *manifest.UserConfig, project string, kind consent.Kind) bool {
	for _, c := range config.Consent {
		dir := c.Project
		if rest, ok := strings.CutPrefix(dir, "~"); ok {
			if h.Home == "" {
				continue
			}
			dir = filepath.Join(h.Home, rest)
		}
		for _, allowed := range c.Allow {
			if allowed == kind && consent.Below(consent.Resolve(project), dir) {
				return true
			}
		}
	}
	return false
}
