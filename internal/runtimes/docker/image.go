package docker

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/moby/moby/api/types/image"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/runtimes/docker/api"
	"github.com/perstack-go/perstack/internal/runtimes/docker/archive"
	"github.com/perstack-go/perstack/internal/runtimes/docker/inside"
	"github.com/perstack-go/perstack/internal/userfile"
)

// An ImageSpec is what an image is made of.
type ImageSpec struct {
	Binary   string       // path of the static Linux program
	Roots    []byte       // certificates of the authorities, PEM
	Base     string       // image that it stands on; empty for nothing
	BaseName string       // how people call it, if Base is its id
	Sets     []PackageSet // what skills need, each a layer; only on a base
}

// repository is the name of all images of ours; the tag tells one from the other.
const repository = "perstack-runtime"

// Images have labels too. They say what an image is made of, and labelUser whose it is.
const (
	labelImage = "dev.perstack.image" // digest of all that the image was made of
	labelFiles = "dev.perstack.files" // digest of what we put into it
	labelBase  = "dev.perstack.base"  // id of the image below
	// labelPackages is where a stage has its packages. What is made of our files has none.
	labelPackages = "dev.perstack.packages"
)

// Parts finds what goes into the image on this machine. getenv must not answer from env
// files: the program gets the secrets of the run, and its authorities can read them.
func Parts(executable string, getenv func(string) string, arch string) (ImageSpec, error) {
	binary, err := LinuxBinary(executable, inside.InitCalled(), getenv(binaryVariable), arch)
	if err != nil {
		return ImageSpec{}, err
	}
	// The variable by which Go and OpenSSL are told of authorities on the host. What is
	// trusted outside the container is then trusted in it.
	if path := getenv("SSL_CERT_FILE"); path != "" {
		roots, err := RootsIn(path)
		if err != nil {
			return ImageSpec{}, fmt.Errorf("SSL_CERT_FILE: %w", err)
		}
		return ImageSpec{Binary: binary, Roots: roots}, nil
	}
	return ImageSpec{Binary: binary, Roots: Roots()}, nil
}

// Image returns the id of the image for spec, and makes it if it does not exist.
func (d *Daemon) Image(ctx context.Context, spec ImageSpec, report func(event.Body)) (string, error) {
	p, err := d.plan(ctx, spec, report)
	if err != nil {
		return "", fmt.Errorf("the image cannot be made: %w", err)
	}
	defer p.layer.Close()
	found, err := d.find(ctx, p)
	if err != nil {
		return "", err
	}
	if found != nil {
		report(progress("complete", "the image "+p.tag()+" is there already"))
		return found.ID, nil
	}
	found, err = d.make(ctx, p, report)
	if err != nil {
		err = fmt.Errorf("make the image %s: %w", p.tag(), err)
		report(progress("error", err.Error()))
		return "", err
	}
	report(progress("complete", "made the image "+p.tag()))
	return found.ID, nil
}

func (d *Daemon) make(ctx context.Context, p *plan, report func(event.Body)) (found *image.InspectResponse, err error) {
	if p.base == nil {
		err = d.load(ctx, p, report)
	} else {
		err = d.grow(ctx, p)
	}
	if err != nil {
		return nil, err
	}
	// What the daemon has is looked at, not what it was given.
	found, err = d.find(ctx, p)
	if err == nil && found == nil {
		err = errors.New("the daemon has it, but not as it was given; update the daemon")
	}
	return found, err
}

// A plan is an image before it is looked for: that of a run, or a stage of it.
type plan struct {
	image archive.Image // with the labels; they name its digest, and are no part of it
	layer *openLayer    // our files; nil for a stage
	base  *base         // what it stands on: that of the user, or a stage; nil for nothing
	// fill puts the files of an image on a base into the container that it is made of.
	fill func(containerID string) error
}

// plan also makes the stages that the image is based on, if they do not exist: what it is
// depends on them.
func (d *Daemon) plan(ctx context.Context, spec ImageSpec, report func(event.Body)) (*plan, error) {
	under, err := d.foundation(ctx, spec, report)
	if err != nil {
		return nil, err
	}
	p, err := spec.plan(d.Arch, under)
	if err != nil {
		return nil, err
	}
	p.fill = func(containerID string) error { return d.copyFiles(ctx, containerID, p.layer, report) }
	return p, nil
}

// plan reads the files of the image.
func (s ImageSpec) plan(arch string, under *base) (*plan, error) {
	layer, err := s.open()
	if err != nil {
		return nil, err
	}
	p := &plan{layer: layer, base: under, image: archive.Image{Arch: arch, Config: ownConfig()}}
	description, err := p.image.Describe(layer.Layer)
	if err != nil {
		layer.Close()
		return nil, err
	}
	files := hashOf(description)
	labels := map[string]string{labelImage: files, labelFiles: files}
	if under != nil {
		labels[labelImage] = hashOf([]byte(files + " on " + under.id))
		labels[labelBase], labels[labelPackages] = under.id, ""
	}
	p.image.Config.Labels = ofUser(labels)
	return p, nil
}

func hashOf(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }

// ownConfig is how all images of ours start, whatever they stand on.
func ownConfig() archive.Config {
	return archive.Config{
		User:       fmt.Sprintf("%d:%d", defaultUser, defaultUser),
		Env:        []string{"PATH=" + defaultPath, "HOME=" + homeDir},
		Entrypoint: []string{binaryPath},
		WorkingDir: workDir,
	}
}

// tag is the name of the image. Twelve digits are for people: what counts is the label,
// and the layers.
func (p *plan) tag() string { return tagOf(p.image.Config.Labels[labelImage]) }

func tagOf(digest string) string { return repository + ":" + digest[:12] }

// find returns the image that the plan describes, or nil. Anybody can give an image our
// name and our labels, so it is taken only if its layers and its configuration are those
// of the plan; else it is made again, and takes the name.
func (d *Daemon) find(ctx context.Context, p *plan) (*image.InspectResponse, error) {
	found, err := d.inspect(ctx, p.tag())
	if err != nil || found == nil || !p.matches(found) {
		return nil, err
	}
	return found, nil
}

// inspect looks at the image of a name; nil if the daemon has none.
func (d *Daemon) inspect(ctx context.Context, name string) (*image.InspectResponse, error) {
	found, err := d.api.Image(ctx, name)
	switch {
	case api.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("look for the image %s: %w", name, err)
	}
	return &found, nil
}

func (p *plan) matches(found *image.InspectResponse) bool {
	c, want := found.Config, p.image.Config
	if c == nil || found.Os != "linux" || found.Architecture != p.image.Arch {
		return false
	}
	for name, value := range want.Labels {
		if c.Labels[name] != value {
			return false
		}
	}
	if c.User != want.User || c.WorkingDir != want.WorkingDir || !slices.Equal(c.Entrypoint, want.Entrypoint) ||
		len(c.Cmd) > 0 || len(c.Volumes) > 0 {
		return false
	}
	if p.base != nil {
		return p.base.under(found)
	}
	return slices.Equal(found.RootFS.Layers, []string{p.layer.DiffID}) &&
		slices.Equal(c.Env, want.Env) && c.Healthcheck == nil && len(c.Labels) == len(want.Labels)
}

func progress(stage, message string) event.DockerBuildProgress {
	return event.DockerBuildProgress{Stage: stage, Service: "image", Message: message}
}

// share is the progress of something that takes many bytes.
func share(stage, doing string, done, total int64, part float64) event.DockerBuildProgress {
	p := progress(stage, fmt.Sprintf("%s: %.1f of %.1f MB", doing, float64(done)/1e6, float64(total)/1e6))
	p.Progress = &part
	return p
}

const (
	maxBinary = 512 << 20 // bytes of the program; it has 30 MB

	scratchMode = 0o1777 // of directories that a file system in memory is mounted on

	defaultUser = 65534 // the user of a container that does not set one

	binaryPath = inside.Program
	rootsPath  = "/etc/ssl/certs/ca-certificates.crt"
)

// An open layer holds the program open, so that what is loaded is what was measured even
// if the file is replaced in between.
type openLayer struct {
	*archive.Layer
	binary *os.File
}

func (l *openLayer) Close() error { return l.binary.Close() }

// open reads what spec names and lays it out as the file system of the container. The
// files belong to root and the container never runs as root, so it cannot change them even
// without a read-only file system.
func (s ImageSpec) open() (*openLayer, error) {
	binary, err := userfile.OpenRegular(s.Binary)
	if err != nil {
		return nil, err
	}
	info, err := binary.Stat()
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxBinary) {
		err = fmt.Errorf("%s is no regular file, or one of more than %d bytes", s.Binary, int64(maxBinary))
	}
	if err != nil {
		binary.Close()
		return nil, err
	}
	program := archive.File{Path: binaryPath, Mode: 0o555, Body: io.NewSectionReader(binary, 0, info.Size())}
	layer, err := archive.NewLayer(s.files(program))
	if err != nil {
		binary.Close()
		return nil, err
	}
	return &openLayer{Layer: layer, binary: binary}, nil
}

// files lists the layer. On a base image, users and the order of name services are its own.
func (s ImageSpec) files(program archive.File) []archive.File {
	files := []archive.File{
		{Path: "/etc", Mode: 0o755},
		{Path: "/etc/ssl", Mode: 0o755},
		{Path: "/etc/ssl/certs", Mode: 0o755},
		{Path: rootsPath, Mode: 0o444, Body: io.NewSectionReader(bytes.NewReader(s.Roots), 0, int64(len(s.Roots)))},
	}
	if s.Base == "" {
		files = append(files,
			archive.File{Path: "/etc/group", Mode: 0o444, Body: archive.Text("root:x:0:\nperstack:x:65534:\n")},
			archive.File{Path: "/etc/nsswitch.conf", Mode: 0o444, Body: archive.Text("hosts: files dns\n")},
			archive.File{Path: "/etc/passwd", Mode: 0o444, Body: archive.Text(
				"root:x:0:0:root:/:/nonexistent\nperstack:x:65534:65534:perstack:" + homeDir + ":/nonexistent\n")},
		)
	}
	return append(files,
		archive.File{Path: "/home", Mode: 0o755},
		// Of root, like /tmp, and open to all: what is mounted there takes over the mode, and
		// sandboxes have directories of their own in it. Its owner could close it to the others.
		archive.File{Path: homeDir, Mode: scratchMode},
		archive.File{Path: "/tmp", Mode: scratchMode},
		archive.File{Path: workDir, Mode: 0o755, UID: defaultUser, GID: defaultUser},
		program,
	)
}
