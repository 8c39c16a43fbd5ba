package skills

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/sandbox/policy"
)

// DataName is the name of the directory for data of a skill: its own name, as far as a directory
// can have it, and a hash of whose skill it is. The versions of an Expert share it.
func DataName(e *expert.Expert, k *expert.Skill) string {
	sum := sha256.Sum256([]byte(e.Name + "\x00" + k.Name))
	name := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' {
			return c
		}
		return '_'
	}, k.Name)
	const most = 40 // bytes
	return strings.Trim(name[:min(len(name), most)], "_") + "-" + hex.EncodeToString(sum[:8])
}

var errNoData = errors.New("there is no directory for its data; set DataDir")

// DataDir returns the directory for data of a skill, and makes it. Nothing else of the project uses
// it, and no other project. It belongs to the user that the skill runs as, with all that is in it:
// when root runs a job in a container, and then without, these are two.
func DataDir(in string, e *expert.Expert, k *expert.Skill, uid, gid int) (string, error) {
	if in == "" {
		return "", errNoData
	}
	dir := filepath.Join(in, DataName(e, k))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make a directory for its data: %w", err)
	}
	if self := os.Geteuid(); self != 0 && self == uid {
		return dir, nil // whatever belongs to another user cannot be changed
	}
	if err := handOver(dir, uid, gid); err != nil {
		return "", fmt.Errorf("make the user of the skill the owner of its data: %w", err)
	}
	return dir, nil
}

// handOver gives a directory, and all that is in it, to a user. It follows no links.
func handOver(dir string, uid, gid int) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil || isOwner(info, uid) {
			return err
		}
		return root.Lchown(name, uid, gid)
	})
}

// MakeData returns a directory for data that is lost when the job ends, and a function that
// removes it.
func MakeData(in string) (string, func() error, error) {
	dir, err := os.MkdirTemp(in, "perstack-data-") // for this user alone
	if err != nil {
		return "", nil, fmt.Errorf("make a directory for data of skills: %w", err)
	}
	return dir, func() error { return policy.RemoveTree(dir) }, nil
}

// NeedsData reports whether a skill has a directory for its data: a package writes beside its
// program, and a skill without the workspace starts there.
func NeedsData(k *expert.Skill) bool {
	if k.Type != expert.StdioSkill || k.BuiltIn {
		return false
	}
	_, isPackage := k.Package()
	return isPackage || k.Workspace == expert.WorkspaceNone
}

// NeedData reports whether a skill of some Experts has a directory for its data.
func NeedData(experts []*expert.Expert) bool {
	return slices.ContainsFunc(experts, func(e *expert.Expert) bool { return slices.ContainsFunc(e.Servers(), NeedsData) })
}
