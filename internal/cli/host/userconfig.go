package host

import (
	"errors"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/internal/consent"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/internal/userfile"
	"github.com/perstack-go/perstack/job"
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

// Own are settings that hold in all projects: those of the user, and the rules of the machine.
type Own struct {
	job.Settings
	// NoAllowAll is the file that refuses to answer all questions with yes; empty if none does.
	NoAllowAll string
	Warnings   toml.Problems
}

// Own reads the user's own configuration and the policy of the machine.
func (h *Host) Own(project, workspace string) (own Own, err error) {
	user, err := h.userConfig(project, workspace)
	if err != nil {
		return own, err
	}
	policy, problems, err := h.policy(project, workspace)
	if err != nil {
		return own, err
	}
	own.Isolation, own.Approvals, own.Snapshots, own.Warnings = user.Sandbox, user.Approvals, user.Snapshots, slices.Concat(user.Warnings, problems)
	if rules := policy.Approvals; rules.Preset != "" || len(rules.Rules) > 0 {
		own.Approvals.Sources = append(own.Approvals.Sources, rules)
	}
	no := func(b *bool) bool { return b != nil && !*b }
	switch {
	case no(policy.AllowAll):
		own.NoAllowAll = h.PolicyPath
	case no(user.AllowAll):
		own.NoAllowAll = h.UserConfigPath()
	}
	err = h.wholePaths(&own.Isolation.Reach, "", user.Problem)
	return own, err
}

// maxPolicy bounds the policy of the machine.
const maxPolicy = 1 << 20

// policy reads the policy of the machine; an empty one if there is none. What root did not write is
// refused: nothing else may speak for all users.
func (h *Host) policy(project, workspace string) (*manifest.Policy, toml.Problems, error) {
	if h.PolicyPath == "" {
		return &manifest.Policy{}, nil, nil
	}
	read := h.ReadPolicy
	if read == nil {
		read = userfile.ReadRoot
	}
	data, err := read(h.PolicyPath, maxPolicy)
	switch {
	case userfile.Absent(err):
		return &manifest.Policy{}, nil, nil
	case err == nil:
		err = h.planted(h.PolicyPath, project, workspace)
	}
	if err != nil {
		return nil, nil, Usagef("the policy %s cannot be used: %w; ask the administrator of this machine", h.PolicyPath, err)
	}
	policy, problems := manifest.ParsePolicy(h.PolicyPath, data)
	return policy, problems.Warnings(), problems.Err()
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
