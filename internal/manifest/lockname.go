package manifest

import (
	"path/filepath"
	"strings"
)

// LockFile is the path of the lockfile that belongs to the file, whether it exists or not.
// It is named after the file: perstack.lock of perstack.toml, b.lock of b.toml. Two files
// of one directory must not take each other's pins for their own.
func (c *Config) LockFile() string {
	return filepath.Join(c.Dir, strings.TrimSuffix(c.Name(), ".toml")+".lock")
}

// Name is the base name of the file, which its lockfile repeats.
func (c *Config) Name() string {
	if c.Path == "" {
		return FileName
	}
	return filepath.Base(c.Path)
}
