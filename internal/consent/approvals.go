package consent

import (
	"strconv"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/approval"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/job"
)

// approvals adds the rules of the project that allow something. Others only make a job stricter,
// and so does a preset: of all files, the strictest counts.
func (l *lister) approvals() {
	for _, source := range l.project.Config.Settings.Approvals.Sources {
		for i, rule := range source.Rules {
			if rule.Do != job.Allow {
				continue
			}
			rule.Why, rule.Match, rule.NotMatch = "", nil, nil // they change nothing
			subject, _ := json.Marshal(rule, json.Deterministic(true))
			l.add(manifest.RequestApprovals, toml.PathTo("rules", strconv.Itoa(i)), string(subject), "tool calls are allowed without a question: %s", approval.Describe(rule))
		}
	}
}

// snapshots adds what [snapshots] leaves out: what is not stored cannot be undone. Limits above the
// usual ones fill the disk.
func (l *lister) snapshots() {
	said, usual := l.project.Config.Settings.Snapshots, l.project.Resolved.UsualSnapshots()
	add := func(key, subject, format string, args ...any) {
		l.add(manifest.RequestSnapshots, "snapshots."+key, key+" "+subject, format, args...)
	}
	mode := l.project.Resolved.Snapshots.Mode
	if mode == job.SnapshotsOff && l.project.Resolved.From("snapshots") == job.File {
		add("mode", string(mode), "changes in the workspace are not stored, and cannot be undone")
	}
	if mode == job.SnapshotsOff {
		return // the rest has no effect
	}
	for i, pattern := range said.Exclude {
		add(toml.PathTo("exclude", strconv.Itoa(i)), "", "changes of %s are not stored, and cannot be undone", wording.Quote(pattern))
		l.list[len(l.list)-1].subject = "exclude " + pattern
	}
	for _, limit := range []struct {
		key         string
		said, usual int64
		format      func(int64) string
	}{
		{"maxFileBytes", said.MaxFileBytes, usual.MaxFileBytes, manifest.FormatBytes},
		{"maxSnapshotBytes", said.MaxSnapshotBytes, usual.MaxSnapshotBytes, manifest.FormatBytes},
		{"maxEntries", int64(said.MaxEntries), int64(usual.MaxEntries), func(n int64) string { return strconv.FormatInt(n, 10) }},
		{"maxStoreBytes", said.MaxStoreBytes, usual.MaxStoreBytes, manifest.FormatBytes},
	} {
		value, normal := limit.format(limit.said), limit.format(limit.usual)
		switch {
		case limit.said > limit.usual:
			l.raised("snapshots."+limit.key, limit.key+" of snapshots", value, normal)
		case limit.said > 0 && limit.said < limit.usual:
			add(limit.key, value, "%s of snapshots is %s, instead of %s: more changes cannot be undone", limit.key, value, normal)
		}
	}
}
