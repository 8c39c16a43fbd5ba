package host

import (
	"errors"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/perstack-go/perstack/internal/consent"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/userfile"
)

// UserConfigPath returns the path of the user's own configuration; "" if it is not known.
// Neither an env file nor a flag can name another one.
func (h *Host) UserConfigPath() string {
	dir := h.userConfigDir(runtime.GOOS)
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "perstack", manifest.UserFileName)
}

// userConfigDir is os.UserConfigDir for Environ; see userCache.
func (h *Host) userConfigDir(goos string) string {
	switch {
	case goos == "windows":
		return h.Getenv("AppData")
	case goos == "darwin" && h.Home != "":
		return filepath.Join(h.Home, "Library", "Application Support")
	case filepath.IsAbs(h.Getenv("XDG_CONFIG_HOME")): // a relative path would depend on the working directory
		return h.Getenv("XDG_CONFIG_HOME")
	case h.Home != "":
		return filepath.Join(h.Home, ".config")
	}
	return ""
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
		return nil, Usagef("%s is not used: %w; run: chmod go-w %s", path, err, terminal.ShellJoin(filepath.Dir(path), path))
	case err != nil:
		return nil, Usagef("the configuration %s cannot be used: %w", path, err)
	}
	if err := h.planted(path, project, workspace); err != nil {
		return nil, Usagef("%s is not used: %w; move it to another directory, or work in another one", path, err)
	}
	config, problems := manifest.ParseUser(path, data)
	return config, problems.Err()
}

// PackageHosts returns the hosts that the user lets npm and uv reach in every project.
func (h *Host) PackageHosts(project, workspace string) ([]string, error) {
	config, err := h.userConfig(project, workspace)
	if err != nil {
		return nil, err
	}
	return config.PackageHosts, nil
}

// planted says why a file is not the word of the user: a job, or the author of the project, can
// have written it. A project that contains the home directory is the user's own.
func (h *Host) planted(path, project, workspace string) error {
	path = consent.Resolve(path)
	switch {
	case consent.Below(path, workspace):
		return errors.New("it is in the workspace, where a job can change it")
	case consent.Below(path, project) && !consent.Below(consent.Resolve(h.Home), project):
		return errors.New("it is in the project, whose author can have written it")
	}
	return nil
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
