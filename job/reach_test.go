package job

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/expert"
)

// The flag decides, then the stricter of file and record. That a job had no sandbox is not
// kept, and a level that this version does not know is not lowered.
func TestResolveLevel(t *testing.T) {
	const off, auto, landlock, full = expert.SandboxOff, expert.SandboxAuto, expert.SandboxLandlock, expert.SandboxFull
	for _, c := range []struct {
		flag, file, record, want expert.SandboxLevel
		from                     Layer
	}{
		{"", "", "", DefaultSandbox, Default},
		{"", "", off, DefaultSandbox, Default},
		{"", "", landlock, landlock, Record},
		{"", "", full, full, Record},
		{"", auto, "", auto, File},
		{"", auto, off, auto, File},
		{"", auto, landlock, landlock, Record},
		{"", off, "", off, File},
		{"", off, landlock, landlock, Record},
		{"", off, auto, auto, Record},
		{"", off, off, off, File},
		{"", landlock, full, full, Record},
		{"", full, landlock, full, File},
		{"", landlock, landlock, landlock, File},
		{"", landlock, "later", "later", Record},
		{off, full, full, off, Flag},
		{auto, full, full, auto, Flag},
		{landlock, off, "", landlock, Flag},
	} {
		at := func(l expert.SandboxLevel) Settings {
			return Settings{Runtime: Local, Isolation: Isolation{Sandbox: l}}
		}
		got := resolve(Flags{Settings: at(c.flag)}, at(c.file), at(c.record))
		if got.Isolation.Sandbox != c.want || got.From("sandbox") != c.from {
			t.Errorf("%+v: %q from %d", c, got.Isolation.Sandbox, got.From("sandbox"))
		}
	}
	docker := Settings{Runtime: Docker, Isolation: Isolation{Sandbox: full, Reach: Reach{Read: []string{"/a"}}, SandboxLimits: SandboxLimits{Memory: 1, Processes: 2, DiskGrowth: 3}}}
	if got := resolve(Flags{Settings: docker}, docker, docker).Isolation; got.Sandbox != "" || !cmp.Equal(got.Reach, Reach{}) || got.SandboxLimits != (SandboxLimits{DiskGrowth: 3}) {
		t.Errorf("in a container: %+v", got)
	}
}

// Flags and file open paths together. A record closes, and opens nothing.
func TestResolveReach(t *testing.T) {
	with := func(r Reach, l SandboxLimits) Settings {
		return Settings{Runtime: Local, Isolation: Isolation{Reach: r, SandboxLimits: l}}
	}
	flags := Flags{Settings: with(Reach{Read: []string{"/b"}, Write: []string{"/w"}, Domains: []string{"b.example", "a.example"}}, SandboxLimits{})}
	file := with(Reach{Read: []string{"/a", "/b"}, Write: []string{"/v"}, Hide: []string{"h"}, Protect: []string{"p"}, Caches: []string{}}, SandboxLimits{Memory: 5, Processes: 9})
	record := with(Reach{
		Read: []string{"/evil"}, Write: []string{"/evil"}, Hide: []string{"g"}, Protect: []string{"q"}, Caches: []string{"go"}, Domains: []string{"evil.example"}, Network: NetworkNone,
	}, SandboxLimits{Memory: 7, Processes: 8, DiskGrowth: 6})
	want := Isolation{
		Sandbox: DefaultSandbox,
		Reach: Reach{
			Read: []string{"/a", "/b"}, Write: []string{"/v", "/w"}, Hide: []string{"g", "h"}, Protect: []string{"p", "q"},
			Caches: []string{}, Network: NetworkNone, Domains: []string{"a.example", "b.example"},
		},
		SandboxLimits: SandboxLimits{Memory: 5, Processes: 8, DiskGrowth: 6},
	}
	if diff := cmp.Diff(want, resolve(flags, file, record).Isolation); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := (SandboxLimits{Processes: 3}).Or(DefaultSandboxLimits()); got != (SandboxLimits{4 << 30, 3, 4 << 30}) {
		t.Errorf("%+v", got)
	}
}

// The user's own configuration opens without a question. A file tightens it, and widens nothing
// that it says.
func TestResolveUser(t *testing.T) {
	at := func(level expert.SandboxLevel, r Reach, l SandboxLimits) Isolation {
		return Isolation{Sandbox: level, Reach: r, SandboxLimits: l}
	}
	const auto, full, off = expert.SandboxAuto, expert.SandboxFull, expert.SandboxOff
	for name, c := range map[string]struct {
		flags, user, file, record, want Isolation
		from                            Layer
		usual                           int64 // memory
	}{
		"user alone": {
			user: at(off, Reach{Read: []string{"/u"}, Caches: []string{"go"}, Network: NetworkHost}, SandboxLimits{Memory: 8 << 30}),
			want: at(off, Reach{Read: []string{"/u"}, Caches: []string{"go"}, Network: NetworkHost}, SandboxLimits{Memory: 8 << 30}), from: User, usual: 8 << 30,
		},
		"file is stricter": {
			user: at(off, Reach{Write: []string{"/u"}, Caches: []string{"go", "npm"}, Network: NetworkHost}, SandboxLimits{Memory: 8 << 30}),
			file: at(full, Reach{Caches: []string{"npm", "pip"}, Network: NetworkNone, Hide: []string{"h"}}, SandboxLimits{Memory: 1 << 30}),
			want: at(full, Reach{Write: []string{"/u"}, Caches: []string{"npm"}, Network: NetworkNone, Hide: []string{"h"}}, SandboxLimits{Memory: 1 << 30}), from: File, usual: 8 << 30,
		},
		"file is weaker": {
			user: at(auto, Reach{Caches: []string{}, Network: NetworkListed}, SandboxLimits{Memory: 2 << 30}),
			file: at(off, Reach{Read: []string{"/f"}, Caches: []string{"go"}, Network: NetworkHost}, SandboxLimits{Memory: 16 << 30, Processes: 9}),
			want: at(auto, Reach{Read: []string{"/f"}, Caches: []string{}, Network: NetworkListed}, SandboxLimits{Memory: 2 << 30, Processes: 9}), from: User, usual: 2 << 30,
		},
		"record is stricter": {
			user: at(off, Reach{Network: NetworkHost}, SandboxLimits{}), record: at(full, Reach{Network: NetworkNone}, SandboxLimits{}),
			want: at(full, Reach{Network: NetworkNone}, SandboxLimits{}), from: Record, usual: 4 << 30,
		},
		"flags decide": {
			flags: at(off, Reach{Network: NetworkHost}, SandboxLimits{}), user: at(full, Reach{Network: NetworkNone}, SandboxLimits{}),
			want: at(off, Reach{Network: NetworkHost}, SandboxLimits{}), from: Flag, usual: 4 << 30,
		},
	} {
		got := resolve(Flags{Settings: Settings{Isolation: c.flags}, User: Settings{Isolation: c.user}}, Settings{Isolation: c.file}, Settings{Runtime: Local, Isolation: c.record})
		if diff := cmp.Diff(c.want, got.Isolation); diff != "" || got.From("sandbox") != c.from || got.From("network") != c.from || got.UsualLimits().Memory != c.usual {
			t.Errorf("%s: level from %d, network from %d, usually %d (-want +got)\n%s", name, got.From("sandbox"), got.From("network"), got.UsualLimits().Memory, diff)
		}
		if opened := len(c.user.Reach.Read) > 0; got.Opened("/u", false) != (opened || len(c.user.Reach.Write) > 0) || got.Opened("/f", false) {
			t.Errorf("%s: what the user opens", name)
		}
	}
}

// A record lowers a limit, and raises none.
func TestResolveSandboxLimits(t *testing.T) {
	const usual = 4 << 30
	for _, c := range []struct{ file, record, want int64 }{
		{0, 0, 0}, {0, usual - 1, usual - 1}, {0, usual + 1, 0}, {usual + 2, usual + 1, usual + 1}, {usual + 1, usual + 2, usual + 1}, {usual + 1, -1, usual + 1}, {5, 0, 5},
	} {
		at := func(n int64) Settings {
			return Settings{Runtime: Local, Isolation: Isolation{SandboxLimits: SandboxLimits{Memory: n}}}
		}
		if got := resolve(Flags{}, at(c.file), at(c.record)).Isolation.SandboxLimits.Memory; got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

func TestResolveNetwork(t *testing.T) {
	for _, c := range []struct{ flag, file, record, want string }{
		{"", "", "", ""},
		{"", NetworkHost, "", NetworkHost},
		{"", "", NetworkHost, ""},
		{"", "", "evil", ""},
		{"", "", NetworkNone, NetworkNone},
		{"", NetworkHost, NetworkListed, NetworkListed},
		{"", NetworkNone, NetworkListed, NetworkNone},
		{NetworkHost, NetworkNone, NetworkNone, NetworkHost},
	} {
		at := func(n string) Settings {
			return Settings{Runtime: Local, Isolation: Isolation{Reach: Reach{Network: n}}}
		}
		if got := resolve(Flags{Settings: at(c.flag)}, at(c.file), at(c.record)); got.Isolation.Reach.Network != c.want {
			t.Errorf("%+v: %q", c, got.Isolation.Reach.Network)
		}
	}
}

// A Spec that continues a job cannot leave its level, and takes no path from the record.
func TestResumeLevel(t *testing.T) {
	recorded := Spec{Settings: Settings{Runtime: Local, Isolation: Isolation{Sandbox: expert.SandboxLandlock, Reach: Reach{Read: []string{"/evil"}, Network: NetworkNone}}}}
	spec := Spec{Settings: Settings{Isolation: Isolation{Sandbox: expert.SandboxOff, Reach: Reach{Read: []string{"/a"}, Network: NetworkHost, Domains: []string{"a.example"}}}}}
	want := Isolation{Sandbox: expert.SandboxLandlock, Reach: Reach{Read: []string{"/a"}, Network: NetworkNone, Domains: []string{"a.example"}}}
	if err := spec.Resume(recorded, providers{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, spec.Isolation); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// A job that recorded whether it had a sandbox, before there were levels, keeps it.
func TestOlderRecord(t *testing.T) {
	for text, want := range map[string]expert.SandboxLevel{
		"true": expert.SandboxLandlock, "false": "", `"full"`: expert.SandboxFull, `"later"`: "later", `""`: "",
	} {
		got, err := ParseRecorded(fmt.Appendf(nil, `{"isolation":{"sandbox":%s,"sharedSandbox":true}}`, text))
		if err != nil || got.Isolation.Sandbox != want || !got.Isolation.SharedSandbox {
			t.Errorf("%s: %+v, %v", text, got.Isolation, err)
		}
	}
	if got, err := ParseRecorded([]byte(`{"isolation":{}}`)); err != nil || got.Isolation.Sandbox != "" {
		t.Errorf("%+v, %v", got.Isolation, err)
	}
	if _, err := ParseRecorded([]byte(`{"isolation":{"sandbox":3}}`)); err == nil {
		t.Error("a number is a level")
	}
	spec := Spec{Settings: Settings{Isolation: Isolation{Sandbox: expert.SandboxFull, Reach: Reach{Caches: []string{}, Hide: []string{"a"}, Network: NetworkNone}, SandboxLimits: SandboxLimits{Processes: 3}}}}
	text, err := spec.Recorded()
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseRecorded(text)
	if diff := cmp.Diff(spec.Isolation, again.Isolation); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}

func TestCheckIsolation(t *testing.T) {
	whole, err := filepath.Abs("data")
	if err != nil {
		t.Fatal(err)
	}
	good := Isolation{Sandbox: expert.SandboxAuto, Reach: Reach{Read: []string{whole}, Write: []string{whole}, Hide: []string{"a/b"}, Protect: []string{"tools"}, Caches: []string{"npm"}, Network: NetworkHost}, SandboxLimits: SandboxLimits{Memory: 1}}
	for _, is := range []Isolation{{}, good} {
		if err := is.check(); err != nil {
			t.Error(err)
		}
	}
	for want, is := range map[string]Isolation{
		"Sandbox: the sandbox":     {Sandbox: "on"},
		`Network "all" is unknown`: {Reach: Reach{Network: "all"}},
		`opens "data"`:             {Reach: Reach{Read: []string{"data"}}},
		"without dots":             {Reach: Reach{Write: []string{whole + "/../x"}}},
		`closes "../x"`:            {Reach: Reach{Hide: []string{"../x"}}},
		`closes "."`:               {Reach: Reach{Protect: []string{"."}}},
		`Caches has "maven"`:       {Reach: Reach{Caches: []string{"go", "maven"}}},
		"a negative limit":         {SandboxLimits: SandboxLimits{Processes: -1}},
	} {
		if err := is.check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", is, err)
		}
	}
}
