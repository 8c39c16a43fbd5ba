package job

// Snapshots say which states of the workspace are stored, so that they can be restored. Zero fields
// mean the default.
type Snapshots struct {
	Mode             SnapshotMode `json:"mode,omitzero"`
	MaxFileBytes     int64        `json:"maxFileBytes,omitzero"`     // a larger file is not stored
	MaxSnapshotBytes int64        `json:"maxSnapshotBytes,omitzero"` // that one snapshot reads
	MaxEntries       int          `json:"maxEntries,omitzero"`       // that one snapshot looks at
	MaxStoreBytes    int64        `json:"maxStoreBytes,omitzero"`    // that the stored files of a project take
	Exclude          []string     `json:"exclude,omitempty"`         // patterns of paths that are not stored
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
