package manifest

import (
	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/job"
)

// The bounds of [snapshots].
const (
	maxExcludes     = 100
	leastFileBytes  = 1 << 10
	leastStoreBytes = 1 << 20
	mostEntries     = 10_000_000
)

// snapshotKeys are the keys of [snapshots].
func snapshotKeys() []key[job.Snapshots] {
	type S = job.Snapshots
	usual := job.DefaultSnapshots()
	return []key[S]{
		row("mode", "What happens if the files of the workspace cannot be stored.", word(job.SnapshotModes()...), func(s *S, m string) { s.Mode = job.SnapshotMode(m) }).
			or(string(usual.Mode)).more("`auto` tells you and continues, `required` stops the job, and `off` stores nothing"),
		row("maxFileBytes", "Size of the largest file that is stored.", size(leastFileBytes), func(s *S, n int64) { s.MaxFileBytes = n }).or(FormatBytes(usual.MaxFileBytes)),
		row("maxSnapshotBytes", "New bytes that one snapshot stores.", size(leastStoreBytes), func(s *S, n int64) { s.MaxSnapshotBytes = n }).or(FormatBytes(usual.MaxSnapshotBytes)),
		row("maxEntries", "Files and directories that one snapshot looks at.", between(1, mostEntries, "it counts files and directories"), func(s *S, n int64) { s.MaxEntries = int(n) }).or(usual.MaxEntries),
		row("maxStoreBytes", "Disk space that the snapshots of a project take.", size(leastStoreBytes), func(s *S, n int64) { s.MaxStoreBytes = n }).or(FormatBytes(usual.MaxStoreBytes)),
		row("exclude", "Paths in the workspace that are not stored, with all below them.", list(maxExcludes, "A path; * stands for any characters of a name, ** for any directories.", text(1, 1024, toml.Printable, excluded)), func(s *S, all []string) { s.Exclude = all }).
			without("none").more("`*` stands for any characters of a name, `**` for any directories"),
	}
}

func excluded(pattern string) (message, hint string) {
	if err := job.CheckExclude(pattern); err != nil {
		return err.Error(), "write it relative to the workspace, like data/**/*.bin"
	}
	return "", ""
}

// snapshotsKey is the key of the table.
func snapshotsKey[T any](field func(*T) *job.Snapshots) key[T] {
	schema := func() *jsonSchema { return schemaOf("", snapshotKeys()) }
	return custom("snapshots", "Which states of the workspace are stored, so that they can be restored.", "table", schema, func(r *reader, top *toml.Table, v *T) {
		if t := top.Sub("snapshots"); t != nil {
			readKeys(r, t, snapshotKeys(), field(v))
			t.Finish(r.misplaced)
		}
	}).without("its defaults").more("see [snapshots](#snapshots)")
}
