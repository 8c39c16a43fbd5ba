package job

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Snapshots say which states of the workspace are stored, so that they can be restored. Zero fields
// mean the default.
type Snapshots struct {
	Mode             SnapshotMode `json:"mode,omitzero"`
	MaxFileBytes     int64        `json:"maxFileBytes,omitzero"`     // a larger file is not stored
	MaxSnapshotBytes int64        `json:"maxSnapshotBytes,omitzero"` // that one snapshot reads
	MaxEntries       int          `json:"maxEntries,omitzero"`       // that one snapshot looks at
	MaxStoreBytes    int64        `json:"maxStoreBytes,omitzero"`    // that the stored files of a project take
	// Exclude are patterns of paths in the workspace that are not stored, with all that is below
	// them. * stands for any characters of a name, ** for any directories.
	Exclude []string `json:"exclude,omitempty"`
}

// A SnapshotMode says what happens if a state of the workspace cannot be stored.
type SnapshotMode string

// The modes.
const (
	SnapshotsOff      SnapshotMode = "off"      // nothing is stored
	SnapshotsAuto     SnapshotMode = "auto"     // the job continues, and the user is told
	SnapshotsRequired SnapshotMode = "required" // the job stops
)

// SnapshotModes lists them, the strictest last.
func SnapshotModes() []string {
	return []string{string(SnapshotsOff), string(SnapshotsAuto), string(SnapshotsRequired)}
}

// DefaultSnapshots returns the settings where nothing else is said.
func DefaultSnapshots() Snapshots {
	return Snapshots{Mode: SnapshotsAuto, MaxFileBytes: 64 << 20, MaxSnapshotBytes: 512 << 20, MaxEntries: 200_000, MaxStoreBytes: 5 << 30}
}

// Or fills the fields that say nothing from other, and adds its patterns.
func (s Snapshots) Or(other Snapshots) Snapshots {
	if s.Mode == "" {
		s.Mode = other.Mode
	}
	if s.MaxFileBytes <= 0 {
		s.MaxFileBytes = other.MaxFileBytes
	}
	if s.MaxSnapshotBytes <= 0 {
		s.MaxSnapshotBytes = other.MaxSnapshotBytes
	}
	if s.MaxEntries <= 0 {
		s.MaxEntries = other.MaxEntries
	}
	if s.MaxStoreBytes <= 0 {
		s.MaxStoreBytes = other.MaxStoreBytes
	}
	s.Exclude = sortedNames(slices.Concat(s.Exclude, other.Exclude))
	return s
}

// snapshots decides what is stored. Of file and user, the stricter mode counts, and the limits of
// the file, which the user allows if they are lower. A recorded job can only make the mode
// stricter.
func (r *Resolved) snapshots(user, file, recorded Snapshots) {
	r.store = user.Or(DefaultSnapshots())
	if user.Mode != "" && file.Mode != "" {
		file.Mode = file.Mode.stricter(user.Mode)
	}
	r.Snapshots = file.Or(r.store)
	r.Snapshots.Mode = r.Snapshots.Mode.stricter(recorded.Mode)
	r.from["snapshots"] = User
	switch {
	case r.Snapshots.Mode == r.store.Mode && user.Mode == "":
		r.from["snapshots"] = Default
	case r.Snapshots.Mode == r.store.Mode:
	case r.Snapshots.Mode == file.Mode:
		r.from["snapshots"] = File
	default:
		r.from["snapshots"] = Record
	}
}

// stricter returns the stricter of two modes. An unknown one, which a record can have, is none.
func (m SnapshotMode) stricter(other SnapshotMode) SnapshotMode {
	if slices.Index(SnapshotModes(), string(other)) > slices.Index(SnapshotModes(), string(m)) {
		return other
	}
	return m
}

// Excludes reports whether a path of the workspace, with slashes, is not stored.
func (s *Snapshots) Excludes(at string) bool {
	names := strings.Split(at, "/")
	return slices.ContainsFunc(s.Exclude, func(pattern string) bool {
		return matchNames(strings.Split(pattern+"/**", "/"), names)
	})
}

// matchNames compares the names of a path with those of a pattern. Of several **, the first place
// where the names after it match is the best one: it leaves most to the rest.
func matchNames(pattern, names []string) bool {
	again, rest := -1, 0 // of the last **: where its pattern continues, and the names that it has not taken
	for i, n := 0, 0; ; {
		switch {
		case i < len(pattern) && pattern[i] == "**":
			i++
			again, rest = i, n
		case i == len(pattern) && n == len(names):
			return true
		case i < len(pattern) && n < len(names) && matchName(pattern[i], names[n]):
			i, n = i+1, n+1
		case again >= 0 && rest < len(names):
			rest++
			i, n = again, rest
		default:
			return false
		}
	}
}

func matchName(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// CheckExclude returns what is wrong with a pattern.
func CheckExclude(pattern string) error {
	clean := path.Clean(pattern)
	switch {
	case path.IsAbs(pattern) || clean == ".." || strings.HasPrefix(clean, "../") || strings.HasPrefix(pattern, "~"):
		return fmt.Errorf("%q is not a path in the workspace", pattern)
	case clean != pattern || clean == ".":
		return fmt.Errorf("%q has an empty name, or . or .. as a name", pattern)
	case strings.Trim(pattern, "*/") == "":
		return fmt.Errorf("%q is everything", pattern)
	case strings.ContainsAny(pattern, `?[]\`):
		return fmt.Errorf("%q has %q; in a pattern, only * has a meaning", pattern, pattern[strings.IndexAny(pattern, `?[]\`)])
	}
	for name := range strings.SplitSeq(pattern, "/") {
		if name != "**" && strings.Contains(name, "**") {
			return fmt.Errorf("%q has ** within a name", pattern)
		}
	}
	return nil
}

func (s *Snapshots) check() error {
	if s.Mode != "" && !slices.Contains(SnapshotModes(), string(s.Mode)) {
		return fmt.Errorf("job: Spec.Snapshots.Mode is %q; choose from %q", s.Mode, SnapshotModes())
	}
	if s.MaxFileBytes < 0 || s.MaxSnapshotBytes < 0 || s.MaxEntries < 0 || s.MaxStoreBytes < 0 {
		return fmt.Errorf("job: Spec.Snapshots has a negative limit; use 0 for the default")
	}
	for _, pattern := range s.Exclude {
		if err := CheckExclude(pattern); err != nil {
			return fmt.Errorf("job: Spec.Snapshots.Exclude: %w", err)
		}
	}
	return nil
}
