package job

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Modes only get stricter. Limits are those of the file, else of the user.
func TestResolveSnapshots(t *testing.T) {
	usual := DefaultSnapshots()
	with := func(change func(*Snapshots)) Snapshots {
		s := DefaultSnapshots()
		change(&s)
		return s
	}
	mode := func(m SnapshotMode) Snapshots { return with(func(s *Snapshots) { s.Mode = m }) }
	for name, c := range map[string]struct {
		user, file, recorded Snapshots
		want                 Snapshots
		from                 Layer
	}{
		"nothing is said":          {want: usual, from: Default},
		"the file":                 {file: Snapshots{Mode: SnapshotsOff}, want: mode(SnapshotsOff), from: File},
		"the user":                 {user: Snapshots{Mode: SnapshotsOff}, want: mode(SnapshotsOff), from: User},
		"the file tightens":        {user: Snapshots{Mode: SnapshotsOff}, file: Snapshots{Mode: SnapshotsRequired}, want: mode(SnapshotsRequired), from: File},
		"the user tightens":        {user: Snapshots{Mode: SnapshotsRequired}, file: Snapshots{Mode: SnapshotsOff}, want: mode(SnapshotsRequired), from: User},
		"a record tightens":        {file: Snapshots{Mode: SnapshotsOff}, recorded: Snapshots{Mode: SnapshotsRequired}, want: mode(SnapshotsRequired), from: Record},
		"and loosens nothing":      {recorded: Snapshots{Mode: SnapshotsOff, MaxFileBytes: 1, Exclude: []string{"a"}}, want: usual, from: Default},
		"nor with an unknown word": {recorded: Snapshots{Mode: "never"}, want: usual, from: Default},
		"limits and patterns": {
			user: Snapshots{MaxFileBytes: 1, MaxEntries: 2, Exclude: []string{"b", "a"}}, file: Snapshots{MaxEntries: 3, MaxStoreBytes: 4, MaxSnapshotBytes: 5, Exclude: []string{"c", "a"}},
			want: with(func(s *Snapshots) {
				s.MaxFileBytes, s.MaxEntries, s.MaxStoreBytes, s.MaxSnapshotBytes, s.Exclude = 1, 3, 4, 5, []string{"a", "b", "c"}
			}),
		},
	} {
		r := Resolve(Flags{User: Settings{Snapshots: c.user}}, Settings{Snapshots: c.file}, Settings{Snapshots: c.recorded}, providers{})
		if diff := cmp.Diff(c.want, r.Snapshots); diff != "" || r.From("snapshots") != c.from {
			t.Errorf("%s, from %v, want %v:\n%s", name, r.From("snapshots"), c.from, diff)
		}
		again := Spec{Settings: r.Settings}
		if again.Complete(providers{}); !cmp.Equal(again.Snapshots, r.Snapshots) {
			t.Errorf("%s, completed again: %v", name, again.Snapshots)
		}
	}
}

func TestExcludes(t *testing.T) {
	for pattern, paths := range map[string]struct{ in, out []string }{
		"data":         {[]string{"data", "data/a", "data/a/b"}, []string{"a/data", "dat", "database"}},
		"data/*.bin":   {[]string{"data/x.bin", "data/.bin", "data/x.bin/y"}, []string{"data", "data/x.txt", "data/a/x.bin", "x.bin"}},
		"**/*.log":     {[]string{"a.log", "x/a.log", "x/y/a.log", "x.log/y"}, []string{"a.logs", "log"}},
		"a/**/b":       {[]string{"a/b", "a/x/b", "a/x/y/b", "a/x/b/c"}, []string{"a", "a/x", "b", "x/a/b"}},
		"a/**":         {[]string{"a", "a/b"}, []string{"b/a", "ab"}},
		"**/a/**/b/*c": {[]string{"a/b/c", "x/a/a/y/b/b/zc"}, []string{"a/b", "b/a/c", "a/c"}},
	} {
		s := Snapshots{Exclude: []string{"never/matches", pattern}}
		if err := s.check(); err != nil {
			t.Error(err)
		}
		for want, list := range map[bool][]string{true: paths.in, false: paths.out} {
			for _, path := range list {
				if s.Excludes(path) != want {
					t.Errorf("%s, %s: want %t", pattern, path, want)
				}
			}
		}
	}
}

func TestCheckSnapshots(t *testing.T) {
	for want, s := range map[string]Snapshots{
		`job: Spec.Snapshots.Mode is "never"; choose from ["off" "auto" "required"]`:        {Mode: "never"},
		`job: Spec.Snapshots has a negative limit; use 0 for the default`:                   {MaxEntries: -1},
		`job: Spec.Snapshots.Exclude: "/a" is not a path in the workspace`:                  {Exclude: []string{"/a"}},
		`job: Spec.Snapshots.Exclude: "../a" is not a path in the workspace`:                {Exclude: []string{"../a"}},
		`job: Spec.Snapshots.Exclude: "~/a" is not a path in the workspace`:                 {Exclude: []string{"~/a"}},
		`job: Spec.Snapshots.Exclude: "a//b" has an empty name, or . or .. as a name`:       {Exclude: []string{"a//b"}},
		`job: Spec.Snapshots.Exclude: "." has an empty name, or . or .. as a name`:          {Exclude: []string{"."}},
		`job: Spec.Snapshots.Exclude: "" has an empty name, or . or .. as a name`:           {Exclude: []string{""}},
		`job: Spec.Snapshots.Exclude: "**/*" is everything`:                                 {Exclude: []string{"**/*"}},
		`job: Spec.Snapshots.Exclude: "a/[bc]" has '['; in a pattern, only * has a meaning`: {Exclude: []string{"a/[bc]"}},
		`job: Spec.Snapshots.Exclude: "a/b**" has ** within a name`:                         {Exclude: []string{"a/b**"}},
	} {
		if err := s.check(); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// A pattern matches itself where it has no *, and is compared in bounded time.
func FuzzExcludes(f *testing.F) {
	f.Add("a/**/b", "a/x/b")
	f.Add("**/a*a*a*a/**", "aaaa/aaa")
	f.Fuzz(func(t *testing.T, pattern, path string) {
		s := Snapshots{Exclude: []string{pattern}}
		if len(pattern) > 1000 || len(path) > 1000 || s.check() != nil {
			return
		}
		if s.Excludes(path) && !s.Excludes(path+"/below") {
			t.Errorf("%q excludes %q, and not what is below", pattern, path)
		}
	})
}
