package docker

import (
	"context"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/runtimes/docker/archive"
	"github.com/perstack-go/perstack/internal/testkit/daemon"
	"github.com/perstack-go/perstack/internal/testkit/jail"
)

// loadBase makes a base image with users of its own and an environment that would turn
// our program.
func loadBase(t *testing.T, change func(*archive.Config)) string {
	t.Helper()
	config := archive.Config{
		User: "0",
		Env: []string{
			"PATH=/opt/bin:/bin", "SSL_CERT_FILE=/opt/evil.pem", "GODEBUG=http2debug=2", "HTTPS_PROXY=http://192.0.2.9:1",
			"HOME=/root", "EMPTY=",
		},
		Entrypoint: []string{"/opt/bin/trap"},
		WorkingDir: "/opt",
		Labels:     map[string]string{"maker": "somebody", labelImage: "forged"},
	}
	if change != nil {
		change(&config)
	}
	return daemon.Load(t, config, []archive.File{
		{Path: "/etc", Mode: 0o755},
		{Path: "/etc/passwd", Mode: 0o644, Body: archive.Text("root:x:0:0::/:\npostgres:x:5432:5432::/:\n")},
		{Path: "/opt", Mode: 0o755},
		{Path: "/opt/data", Mode: 0o644, Body: archive.Text(daemon.Name(t))},
		{Path: "/tmp", Mode: 0o1777},
	})
}

func TestImageOnABase(t *testing.T) {
	i := newImagist(t)
	spec := i.spec(t)
	spec.Base = loadBase(t, nil)
	id, tag := i.image(t, spec)
	if got := i.stages(); !slices.Equal(got, []string{"building", "complete"}) {
		t.Errorf("events %v", i.events)
	}
	out := i.run(t, container.Config{Image: id, User: "1234:1234", Cmd: []string{"--version"}})
	if strings.TrimSpace(out) == "" {
		t.Error("perstack --version says nothing")
	}

	found, err := i.moby.ImageInspect(t.Context(), tag)
	if err != nil {
		t.Fatal(err)
	}
	c := found.Config
	if c.User != "65534:65534" || c.WorkingDir != "/workspace" || !slices.Equal(c.Entrypoint, []string{"/perstack"}) || len(c.Cmd) > 0 ||
		c.Healthcheck == nil || !slices.Equal(c.Healthcheck.Test, []string{"NONE"}) {
		t.Errorf("configuration %+v", c)
	}
	if c.Labels["maker"] != "somebody" || len(c.Labels[labelImage]) != 64 || c.Labels[labelBase] != i.id(t, spec.Base) ||
		c.Labels[labelOwner] != "" || c.Labels[labelKind] != "" {
		t.Errorf("labels %v", c.Labels)
	}

	// What a program in it would see.
	created, err := i.moby.ContainerCreate(t.Context(), client.ContainerCreateOptions{Name: daemon.Name(t), Config: &container.Config{Image: id}})
	if err != nil {
		t.Fatal(err)
	}
	daemon.RemoveContainer(t, i.moby, created.ID)
	inside, err := i.moby.ContainerInspect(t.Context(), created.ID, client.ContainerInspectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{}
	for _, v := range inside.Container.Config.Env {
		if name, value, set := strings.Cut(v, "="); set {
			env[name] = value
		}
	}
	if want := map[string]string{"PATH": "/opt/bin:/bin", "HOME": "/home/perstack"}; !maps.Equal(env, want) {
		t.Errorf("environment %v, want %v", env, want)
	}
	for file, size := range map[string]int64{
		"/etc/passwd": int64(len("root:x:0:0::/:\npostgres:x:5432:5432::/:\n")), // the base's
		rootsPath:     int64(len(spec.Roots)),
		"/perstack":   int64(len(read(t, spec.Binary))),
	} {
		got, err := i.moby.ContainerStatPath(t.Context(), created.ID, client.ContainerStatPathOptions{Path: file})
		if err != nil || got.Stat.Size != size || got.Stat.Name != path.Base(file) {
			t.Errorf("%s: %+v, %v, want %d bytes", file, got.Stat, err, size)
		}
	}
}

func TestImageOnABaseIsMadeOnce(t *testing.T) {
	i := newImagist(t)
	spec := i.spec(t)
	spec.Base = loadBase(t, nil)
	byID := spec
	byID.Base = i.id(t, spec.Base)
	daemon.RemoveImage(t, i.moby, byID.Base)
	first, _ := i.image(t, spec)
	if second, _ := i.image(t, byID); second != first || len(i.events) != 1 {
		t.Errorf("the second time: %s, want %s; %v", second, first, i.events)
	}
	// The name means another image now.
	other := loadBase(t, nil)
	if _, err := i.moby.ImageTag(t.Context(), client.ImageTagOptions{Source: other, Target: spec.Base}); err != nil {
		t.Fatal(err)
	}
	if third, _ := i.image(t, spec); third == first {
		t.Error("another base gives the same image")
	}
	// Nothing is left but images.
	list, err := i.moby.ContainerList(t.Context(), client.ContainerListOptions{All: true, Filters: make(client.Filters).Add("ancestor", byID.Base)})
	if err != nil || len(list.Items) > 0 {
		t.Errorf("containers of the base: %+v, %v", list.Items, err)
	}
}

// Files go through the links of a base, not over them; the program takes its place.
func TestBaseKeepsItsDirectories(t *testing.T) {
	i := newImagist(t)
	spec := i.spec(t)
	spec.Base = daemon.Load(t, archive.Config{}, []archive.File{
		{Path: "/etc", Mode: 0o711},
		{Path: "/etc/pki", Mode: 0o755},
		{Path: "/etc/ssl", Mode: 0o755},
		{Path: "/etc/ssl/certs", Mode: 0o777, Link: "../pki"},
		{Path: "/perstack", Mode: 0o777, Link: "/etc/trap"},
		{Path: "/workspace", Mode: 0o750, UID: 5, GID: 6},
	})
	id, _ := i.image(t, spec)
	i.run(t, container.Config{Image: id, Cmd: []string{"--version"}})
	created, err := i.moby.ContainerCreate(t.Context(), client.ContainerCreateOptions{Name: daemon.Name(t), Config: &container.Config{Image: id}})
	if err != nil {
		t.Fatal(err)
	}
	daemon.RemoveContainer(t, i.moby, created.ID)
	for file, mode := range map[string]string{
		"/etc":                         "drwx--x--x",
		"/etc/pki/ca-certificates.crt": "-r--r--r--",
		"/etc/ssl/certs":               "Lrwxrwxrwx",
		"/home/perstack":               "dtrwxrwxrwx",
		"/perstack":                    "-r-xr-xr-x",
		"/workspace":                   "drwxr-x---",
	} {
		got, err := i.moby.ContainerStatPath(t.Context(), created.ID, client.ContainerStatPathOptions{Path: file})
		if err != nil || got.Stat.Mode.String() != mode {
			t.Errorf("%s is %s, %v, want %s", file, got.Stat.Mode, err, mode)
		}
	}
}

// A program can write where a file system in memory is mounted, whatever the base has there.
func TestScratchOnABase(t *testing.T) {
	home := archive.File{Path: "/home", Mode: 0o755}
	for name, files := range map[string][]archive.File{
		"nothing": nil,
		"closed":  {{Path: "/tmp", Mode: 0o755}, home, {Path: homeDir, Mode: 0o700, UID: 5, GID: 6}},
		"links": {
			{Path: "/tmp", Mode: 0o777, Link: "var/tmp"}, {Path: "/var", Mode: 0o755}, {Path: "/var/tmp", Mode: 0o755},
			home, {Path: homeDir, Mode: 0o777, Link: "/var/none"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			i := newImagist(t)
			spec := i.spec(t)
			spec.Binary = daemon.Program(t, "./internal/testkit/jail/jaild")
			spec.Base = daemon.Load(t, archive.Config{}, append(files, archive.File{Path: "/mark", Mode: 0o644, Body: archive.Text(daemon.Name(t))}))
			plan := testPlan(t)
			plan.image, _ = i.image(t, spec)
			s, _ := buildSite(t, i.Daemon, plan)
			saw, _ := enter(t, s, jail.Task{Write: []string{"/tmp", homeDir}})
			for _, dir := range []string{"/tmp", homeDir} {
				if err, done := saw.Wrote[dir]; err != "" || !done {
					t.Errorf("%s: %q, %t", dir, err, done)
				}
			}
		})
	}
}

func TestBasesThatAreRefused(t *testing.T) {
	i := newImagist(t)
	volume := loadBase(t, func(c *archive.Config) { c.Volumes = map[string]struct{}{"/data": {}} })
	missing := daemon.Name(t) + ":7"
	good := loadBase(t, nil)
	taken := daemon.Load(t, archive.Config{}, []archive.File{{Path: "/perstack", Mode: 0o755}, {Path: "/perstack/trap", Mode: 0o755}})
	for _, test := range []struct {
		name, base, arch string
		errors           []string
	}{
		{"a volume", volume, i.Arch, []string{volume, "declares a VOLUME"}},
		{"not there", missing, i.Arch, []string{missing, "is not on this daemon", "docker pull " + missing}},
		{"a missing digest", "debian@sha256:" + strings.Repeat("0", 64), i.Arch, []string{"docker pull debian@sha256:000"}},
		{"a directory where the program goes", taken, i.Arch, []string{"make the image", "directory"}},
		{"for another machine", good, "s390x", []string{good, "is for linux/" + i.Arch, "linux/s390x"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			spec := i.spec(t)
			spec.Base = test.base
			other := &Daemon{api: i.api, Arch: test.arch}
			id, err := other.Image(t.Context(), spec, i.report)
			if err == nil {
				t.Fatalf("made %s", id)
			}
			for _, want := range test.errors {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
		})
	}
}

// The container that an image is made of can be found by the next run if this one is
// killed, and is removed if it is stopped.
func TestContainerOfAnImage(t *testing.T) {
	i := newImagist(t)
	spec := i.spec(t)
	spec.Base = loadBase(t, nil)
	filter := client.ContainerListOptions{All: true, Filters: make(client.Filters).Add("ancestor", i.id(t, spec.Base))}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen := 0
	_, err := i.Image(ctx, spec, func(b event.Body) {
		i.report(b)
		if seen > 0 {
			return
		}
		list, err := i.moby.ContainerList(t.Context(), filter)
		if err != nil {
			t.Error(err)
		}
		for _, c := range list.Items {
			seen++
			if c.State != container.StateCreated || !maps.Equal(withoutStart(c.Labels), withoutStart(ownLabels("", ""))) {
				t.Errorf("%s container with %v", c.State, c.Labels)
			}
		}
		cancel()
	})
	if !errors.Is(err, context.Canceled) || seen != 1 {
		t.Errorf("error %v, %d containers", err, seen)
	}
	if list, err := i.moby.ContainerList(t.Context(), filter); err != nil || len(list.Items) > 0 {
		t.Errorf("left: %+v, %v", list.Items, err)
	}
}

// withoutStart are the labels that say whose something is.
func withoutStart(labels map[string]string) map[string]string {
	return map[string]string{labelKind: labels[labelKind], labelJob: labels[labelJob], labelOwner: labels[labelOwner]}
}
