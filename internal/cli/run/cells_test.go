package run

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/job"
)

const celled = `
[experts.lead]
instruction = "x"
delegates = ["mate"]
[experts.mate]
instruction = "x"
[experts.mate.skills.s]
type = "mcpStdioSkill"
command = "x"
`

func cellSetup(t *testing.T, text string, o *Options) (*setup, *strings.Builder) {
	t.Helper()
	c, problems := manifest.Parse(filepath.Join(t.TempDir(), "perstack.toml"), []byte(text))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	told := &strings.Builder{}
	o.Host = &host.Host{Command: "perstack", Stderr: told}
	s := &setup{opts: o, config: c, runtime: job.Local}
	if o.Runtime != "" {
		s.runtime = o.Runtime
	}
	return s, told
}

// A kernel that keeps no cells is asked only where somebody wants them, and then nothing
// starts.
func TestCheckCells(t *testing.T) {
	none := errors.New("no cells; buy a kernel")
	for name, tt := range map[string]struct {
		text string
		opts Options
		want string // empty for no error
	}{
		"nobody asks":      {celled, Options{}, ""},
		"the flag":         {celled, Options{Sandbox: true}, "--sandbox: no cells; buy a kernel; or use --runtime docker"},
		"a delegate":       {celled + "sandbox = 'landlock'\n", Options{}, `sandbox of the skill "s" of mate: no cells`},
		"behind the wall":  {celled + "sandbox = 'landlock'\n", Options{Runtime: "docker"}, ""},
		"shared":           {celled, Options{Runtime: "docker", SharedCell: true}, ""},
		"shared, by Squid": {"[docker]\nproxy = 'squid'\nsquidImage = 'squid:6'\n" + celled, Options{Runtime: "docker", SharedCell: true, Proxy: "squid"}, `--shared-cell does not go with proxy = "squid"`},
		"Squid":            {"[docker]\nproxy = 'squid'\nsquidImage = 'squid:6'\n" + celled, Options{Runtime: "docker", Proxy: "squid"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := cellSetup(t, tt.text, &tt.opts)
			s.keepsCells = func() error { return none }
			err := s.checkCells(s.config.Experts[0])
			if (err == nil) != (tt.want == "") || err != nil && (!strings.Contains(err.Error(), tt.want) || host.ExitCode(err) != host.ExitUsage) {
				t.Errorf("%v, want %q", err, tt.want)
			}
			s.keepsCells = func() error { return nil }
			if err := s.checkCells(s.config.Experts[0]); err != nil && !strings.Contains(err.Error(), "squid") {
				t.Errorf("refused by a kernel that can: %v", err)
			}
		})
	}
}

// Whose program decides about connections is for the user to say, not for a file.
func TestSquidNeedsConsent(t *testing.T) {
	const squid = "[docker]\nproxy = 'squid'\nsquidImage = 'squid:6'\n"
	for name, tt := range map[string]struct {
		file, flag string
		want       string // of the error; empty for none
		told, wall string
	}{
		"the file alone":     {squid, "", "if you trust that image, add --proxy squid, else --proxy builtin", "", ""},
		"the flag too":       {squid, "squid", "", "by Squid, of the image squid:6", "squid"},
		"the user says no":   {squid, "builtin", "", "", ""},
		"no image":           {"", "squid", "name it as squidImage in [docker]", "", ""},
		"nobody mentions it": {"", "", "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, told := cellSetup(t, tt.file+celled, &Options{Runtime: "docker", Proxy: tt.flag})
			err := s.checkCells(s.config.Experts[0])
			if (err == nil) != (tt.want == "") || err != nil && (!strings.Contains(err.Error(), tt.want) || host.ExitCode(err) != host.ExitUsage) {
				t.Errorf("%v, want %q", err, tt.want)
			}
			if (told.String() == "") != (tt.told == "") || !strings.Contains(told.String(), tt.told) {
				t.Errorf("told %q, want %q", told, tt.told)
			}
			if w := s.chosen(); err == nil && (w == nil) != (tt.wall == "") || w != nil && err == nil && w.Proxy != tt.wall {
				t.Errorf("recorded: %+v", w)
			}
		})
	}
}

// What locks programs in is handed to the runtime only where something asks for it.
func TestCellsOfTheRuntime(t *testing.T) {
	s, _ := cellSetup(t, celled, &Options{})
	if c := s.cells(s.config.Experts[0]); c != nil {
		t.Errorf("%+v", c)
	}
	s, _ = cellSetup(t, celled+"sandbox = 'landlock'\n", &Options{})
	if c := s.cells(s.config.Experts[0]); c == nil || c.All {
		t.Errorf("%+v", c)
	}
	s, _ = cellSetup(t, celled, &Options{Sandbox: true})
	if c := s.cells(s.config.Experts[0]); c == nil || !c.All {
		t.Errorf("%+v", c)
	}
}

// Cells that a job had are kept when it goes on, and cells that it did not have come back:
// a flag that was not repeated never makes the walls thinner. What was chosen is recorded.
func TestKeepCells(t *testing.T) {
	local := func(w event.Walls) author { return author{runtime: "local", walls: &w} }
	docker := func(w event.Walls) author { return author{runtime: "docker", walls: &w} }
	for name, tt := range map[string]struct {
		before author
		opts   Options
		walls  *event.Walls
		told   string // empty for nothing
	}{
		"nothing":             {author{runtime: "local"}, Options{}, nil, ""},
		"first":               {author{}, Options{Sandbox: true}, &event.Walls{Sandbox: true}, ""},
		"kept":                {local(event.Walls{Sandbox: true}), Options{}, &event.Walls{Sandbox: true}, "goes on with cells, as before"},
		"repeated":            {local(event.Walls{Sandbox: true}), Options{Sandbox: true}, &event.Walls{Sandbox: true}, ""},
		"given up":            {local(event.Walls{Sandbox: true}), Options{NoSandbox: true}, nil, "without cells"},
		"into a container":    {local(event.Walls{Sandbox: true}), Options{Runtime: "docker"}, nil, ""},
		"shared":              {author{}, Options{Runtime: "docker", SharedCell: true}, &event.Walls{SharedCell: true}, ""},
		"not shared any more": {docker(event.Walls{SharedCell: true}), Options{Runtime: "docker"}, nil, "a cell for each skill"},
		"shared again":        {docker(event.Walls{SharedCell: true}), Options{Runtime: "docker", SharedCell: true}, &event.Walls{SharedCell: true}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, told := cellSetup(t, celled, &tt.opts)
			if err := s.keepWalls(tt.before); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.walls, s.chosen()); d != "" {
				t.Errorf("recorded (-want +got)\n%s", d)
			}
			if (told.Len() > 0) != (tt.told != "") || !strings.Contains(told.String(), tt.told) {
				t.Errorf("told %q, want %q", told, tt.told)
			}
		})
	}
}

// Flags of one runtime do not go with the other, and offline is the stronger word.
func TestCellFlags(t *testing.T) {
	for want, o := range map[string]*Options{
		"--shared-cell goes with --runtime docker, not local": {SharedCell: true},
		"--offline goes with --runtime docker, not local":     {Offline: true},
		"which always has cells":                              {Sandbox: true, Runtime: "docker"},
	} {
		runtime := job.Local
		if o.Runtime != "" {
			runtime = o.Runtime
		}
		if err := o.checkRuntime(runtime, "replay"); err == nil || !strings.Contains(err.Error(), want) || host.ExitCode(err) != host.ExitUsage {
			t.Errorf("%v, want %q", err, want)
		}
	}
	s, _ := cellSetup(t, celled, &Options{Runtime: "docker", Offline: true})
	if !s.walls().Offline {
		t.Error("--offline is not handed on")
	}
	s, _ = cellSetup(t, "docker.offline = true\n"+celled, &Options{Runtime: "docker"})
	if !s.walls().Offline {
		t.Error("offline of the file is lost")
	}
}

// Packages behind the wall need pins.
func TestPackagesNeedALock(t *testing.T) {
	text := strings.Replace(celled, `command = "x"`, "command = \"npx\"\npackageName = \"x\"", 1)
	s, _ := cellSetup(t, text, &Options{Runtime: "docker", Config: "b.toml"})
	_, err := s.checkSkills(s.config.Experts[0])
	if err == nil || !strings.Contains(err.Error(), `the package "x" is not pinned`) || !strings.Contains(err.Error(), "run: perstack install --config b.toml") || host.ExitCode(err) != host.ExitUsage {
		t.Error(err)
	}
	s, _ = cellSetup(t, text, &Options{})
	if _, err := s.checkSkills(s.config.Experts[0]); err != nil {
		t.Errorf("without a wall: %v", err)
	}
}
