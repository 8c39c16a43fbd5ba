package policy

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Private are paths that a user is not asked to open to programs, besides what [Places] refuses.
type Private struct {
	Workspace string   // its right to it is all that a skill has
	Dirs      []string // of perstack: settings, packages, data of skills, what is hidden from tools
	Environ   []string // which can say where keys and passwords are
}

// Openable returns the directory that a user can be asked to open, so that programs can read a path:
// that of a file, or the directory itself, without links. ok is false if the path does not exist, and
// for what no answer opens: a program can print any path, and its user can answer in haste. What is
// refused here can still be named by a flag, if [Places.CheckPath] accepts it.
func (p Places) Openable(path string, private Private) (dir string, ok bool) {
	if !filepath.IsAbs(path) {
		return "", false
	}
	real, err := p.resolve(path)
	if err != nil {
		return "", false
	}
	info, err := os.Lstat(real)
	if err != nil {
		return "", false
	}
	switch {
	case info.IsDir():
		dir = real
	case info.Mode().IsRegular():
		dir = filepath.Dir(real)
	default: // a socket, a pipe or a device
		return "", false
	}
	f := p.follow()
	return dir, f.refuse(dir) == nil && !isHidden(dir) && !isHome(dir) && !f.isShared(dir) && !f.isPrivate(dir, private)
}

// isHome reports whether a directory looks like a home directory: that of another user, a copy, or the
// user's own if HOME is empty or names another.
func isHome(dir string) bool {
	return slices.ContainsFunc([]string{".ssh", ".gnupg", ".aws", ".kube", ".profile", ".bashrc", ".bash_history", ".zshrc"}, func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil
	})
}

// isHidden reports whether a name in a path begins with a dot: programs keep settings there, and often
// passwords with them.
func isHidden(dir string) bool {
	return strings.Contains(filepath.ToSlash(dir), "/.")
}

// isShared reports whether a directory belongs to the system, or has files of other users and programs
// that a user does not think of.
func (p followed) isShared(dir string) bool {
	for _, tree := range append(systemPaths(), "/boot") {
		if touches(dir, tree) {
			return true
		}
	}
	return slices.ContainsFunc([]string{"/home", "/Users", "/tmp", "/var/tmp", os.TempDir()}, func(all string) bool { return in(dir, follow(all)) })
}

// isPrivate reports whether a directory is in a private one, or around one.
func (p followed) isPrivate(dir string, private Private) bool {
	var all []string
	if p.home != "" {
		for _, name := range append(secretDirs(), "snap", "AppData") {
			all = append(all, filepath.Join(p.home, filepath.FromSlash(name)))
		}
	}
	for _, kv := range private.Environ {
		if name, value, _ := strings.Cut(kv, "="); slices.Contains(secretVariables(), name) {
			all = append(all, filepath.SplitList(value)...)
		}
	}
	all = append(append(all, private.Dirs...), private.Workspace)
	return slices.ContainsFunc(all, func(path string) bool { return touches(dir, follow(path)) })
}

// secretVariables name files and directories with keys and passwords, or lists of these.
func secretVariables() []string {
	return []string{
		"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "GNUPGHOME", "KUBECONFIG", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE",
		"GOOGLE_APPLICATION_CREDENTIALS", "CLOUDSDK_CONFIG", "AZURE_CONFIG_DIR", "DOCKER_CONFIG", "DOCKER_CERT_PATH", "NETRC",
		"NPM_CONFIG_USERCONFIG", "npm_config_userconfig", "PASSWORD_STORE_DIR", "CARGO_HOME", "GH_CONFIG_DIR",
		"AWS_WEB_IDENTITY_TOKEN_FILE", "PGPASSFILE", "ANSIBLE_VAULT_PASSWORD_FILE", "SOPS_AGE_KEY_FILE", "TF_CLI_CONFIG_FILE", "HISTFILE",
	}
}
