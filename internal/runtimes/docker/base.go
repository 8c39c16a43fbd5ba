package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/image"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/runtimes/docker/archive"
)

// removeTimeout bounds the removal of the container that an image is made of.
const removeTimeout = 30 * time.Second

// comment begins what is said about an image on a base, for people and for prune.
const comment = "perstack on "

// A base is an image that another one stands on: one of the user's, or that with packages
// of skills on top.
type base struct {
	name      string // of the user's image, as the user gave it
	id        string
	layers    []string
	variables []string // NAME=value
	python    string   // version, if it says one
	staged    bool     // it has packages of skills
}

// base looks at the image that the user named. Nothing is pulled: that an image comes from
// somewhere is the user's decision, and so is when.
func (d *Daemon) base(ctx context.Context, name string) (*base, error) {
	found, err := d.inspect(ctx, name)
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, fmt.Errorf("the base image %s is not on this daemon; get it with: docker pull %s", name, name)
	}
	if found.Os != "linux" || found.Architecture != d.Arch {
		return nil, fmt.Errorf("the base image %s is for %s/%s, but this daemon runs linux/%s; get the right one with: DOCKER_DEFAULT_PLATFORM=linux/%s docker pull %s",
			name, found.Os, found.Architecture, d.Arch, d.Arch, name)
	}
	b := &base{name: name, id: found.ID, layers: found.RootFS.Layers}
	if c := found.Config; c != nil {
		if len(c.Volumes) > 0 {
			// The daemon would make them writable and leave them behind.
			return nil, fmt.Errorf("the base image %s declares a VOLUME, which would be a place to write to outside the workspace; use an image without", name)
		}
		b.variables, b.python = c.Env, pythonOf(c.Env)
	}
	return b, nil
}

// env is the environment of the image. Of the base's it has the path, for its programs to
// be found; a name without a value takes the variable away. Others could turn our own
// program: SSL_CERT_FILE, GODEBUG, HTTPS_PROXY.
func (b *base) env() []string {
	env := []string{"PATH=" + defaultPath, "HOME=" + homeDir}
	for _, v := range b.variables {
		name, _, _ := strings.Cut(v, "=")
		switch name {
		case "PATH":
			env[0] = v
		case "HOME":
		default:
			env = append(env, name)
		}
	}
	return env
}

// under reports whether an image is this one with a layer of ours on top. What that layer
// is made of, the daemon alone knows: here the label is believed.
func (b *base) under(found *image.InspectResponse) bool {
	layers := found.RootFS.Layers
	return len(layers) == len(b.layers)+1 && slices.Equal(layers[:len(b.layers)], b.layers) &&
		found.Config.Healthcheck != nil && slices.Equal(found.Config.Healthcheck.Test, []string{"NONE"}) &&
		slices.Equal(found.Config.Env, b.env())
}

// grow makes an image of a container that stands on a base, is filled, and is never
// started: nothing of the base runs here.
func (d *Daemon) grow(ctx context.Context, p *plan) (err error) {
	start := newStart()
	labels := ownLabels("", start) // of no job: others will use the image too
	config := p.image.Config
	id, err := d.api.Create(ctx, nameOf(start, "image"), container.CreateRequest{
		Config: &container.Config{
			Image:           p.base.id, // not the name: that may mean another image by now
			Entrypoint:      config.Entrypoint,
			User:            config.User,
			Labels:          labels,
			NetworkDisabled: true,
		},
		HostConfig: &container.HostConfig{
			NetworkMode: "none",
			CapDrop:     []string{"ALL"},
			SecurityOpt: []string{"no-new-privileges:true"},
			LogConfig:   container.LogConfig{Type: "none"},
		},
	})
	if err != nil {
		return err
	}
	defer func() {
		// Also when ctx is done. If this fails, the next sweep finds it.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTimeout)
		defer cancel()
		err = errors.Join(err, d.api.Remove(ctx, id))
	}()
	if err := p.fill(id); err != nil {
		return err
	}
	all := maps.Clone(config.Labels)
	for name := range labels {
		all[name] = "" // the maker of an image does not own the containers that run it
	}
	name, version, _ := strings.Cut(p.tag(), ":")
	return d.api.Commit(ctx, id, name, version, comment+p.base.name, &container.Config{
		User:        config.User,
		Env:         p.base.env(),
		Entrypoint:  config.Entrypoint,
		WorkingDir:  config.WorkingDir,
		Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
		Labels:      all,
	})
}

// copyFiles sends our files. Directories that the base has stay as they are, also where
// they are links; except those that everybody can write to.
func (d *Daemon) copyFiles(ctx context.Context, containerID string, layer *openLayer, report func(event.Body)) error {
	var files []archive.File
	for _, f := range layer.Files {
		if f.Body == nil {
			there, err := d.api.Stat(ctx, containerID, f.Path)
			// runc 1.1 gives what is mounted there the mode of the directory below, whatever the
			// options of the mount say.
			mounted := f.Mode == scratchMode
			if mounted && there != nil && there.LinkTarget != "" {
				f.Path = there.LinkTarget
				there, err = d.api.Stat(ctx, containerID, f.Path)
			}
			if err != nil {
				return err
			}
			if there != nil && (!mounted || !there.Mode.IsDir()) {
				continue
			}
		}
		files = append(files, f)
	}
	return d.send(ctx, containerID, func(w io.Writer) error {
		return archive.WriteTar(meter(w, sendingImage, layer.Size, report), files)
	})
}

// send unpacks a tar in a container while it is being written.
func (d *Daemon) send(ctx context.Context, containerID string, write func(io.Writer) error) error {
	r, w := io.Pipe()
	sent := make(chan error, 1)
	go func() {
		err := write(w)
		w.CloseWithError(err)
		sent <- err
	}()
	err := d.api.Unpack(ctx, containerID, r)
	r.Close()
	// An error of the writer says more than that of the daemon, which got half a tar; except
	// that the daemon stopped reading.
	if writeErr := <-sent; writeErr != nil && !errors.Is(writeErr, io.ErrClosedPipe) {
		return writeErr
	}
	return err
}
