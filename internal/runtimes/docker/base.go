package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/runtimes/docker/archive"
)

// removeTimeout bounds the removal of the container that an image is made of.
const removeTimeout = 30 * time.Second

// comment begins what is said about an image on a base, for people and for prune.
const comment = "perstack on "

// A base is an image of the user's that the one for a run stands on.
type base struct {
	name      string // as the user gave it
	id        string
	layers    []string
	variables []string // NAME=value
}

// base looks at the image that the user named. Nothing is pulled: that an image comes from
// somewhere is the user's decision, and so is when.
func (e *Engine) base(ctx context.Context, name string) (*base, error) {
	found, err := e.api.ImageInspect(ctx, name)
	if errdefs.IsNotFound(err) {
		return nil, fmt.Errorf("the base image %s is not on this engine; docker pull %s gets it", name, name)
	}
	if err != nil {
		return nil, fmt.Errorf("the base image %s: %w", name, err)
	}
	if found.Os != "linux" || found.Architecture != e.Arch {
		return nil, fmt.Errorf("the base image %s is for %s/%s, but this engine runs linux/%s; docker pull --platform linux/%s %s gets the right one",
			name, found.Os, found.Architecture, e.Arch, e.Arch, name)
	}
	b := &base{name: name, id: found.ID, layers: found.RootFS.Layers}
	if c := found.Config; c != nil {
		if len(c.Volumes) > 0 {
			// The engine would make them writable and leave them behind.
			return nil, fmt.Errorf("the base image %s declares a VOLUME, which would be a place to write to outside the workspace; use an image without", name)
		}
		b.variables = c.Env
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
// is made of, the engine alone knows: here the label is believed.
func (b *base) under(found client.ImageInspectResult) bool {
	layers := found.RootFS.Layers
	return len(layers) == len(b.layers)+1 && slices.Equal(layers[:len(b.layers)], b.layers) &&
		found.Config.Healthcheck != nil && slices.Equal(found.Config.Healthcheck.Test, []string{"NONE"})
}

// commit makes the image of a container that stands on the base, has our files and is
// never started: nothing of the base runs here.
func (e *Engine) commit(ctx context.Context, p *plan, report func(event.Body)) (err error) {
	labels := ownLabels("", newStart()) // of no job: others will use the image too
	created, err := e.api.ContainerCreate(ctx, client.ContainerCreateOptions{
		Config: &container.Config{
			Image:           p.base.id, // not the name: that may mean another image by now
			Entrypoint:      []string{binaryPath},
			User:            p.image.Config.User,
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
		_, removeErr := e.api.ContainerRemove(ctx, created.ID, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
		err = errors.Join(err, removeErr)
	}()
	if err := e.copyFiles(ctx, created.ID, p.layer, report); err != nil {
		return err
	}
	image := p.labels()
	for name := range labels {
		image[name] = "" // whoever made the image does not own the containers that run it
	}
	_, err = e.api.ContainerCommit(ctx, created.ID, client.ContainerCommitOptions{
		Reference: p.tag(),
		Comment:   comment + p.base.name,
		Config: &container.Config{
			User:        p.image.Config.User,
			Env:         p.base.env(),
			Entrypoint:  p.image.Config.Entrypoint,
			WorkingDir:  p.image.Config.WorkingDir,
			Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
			Labels:      image,
		},
	})
	return err
}

// copyFiles sends our files. Directories that the base has stay as they are, also where
// they are links.
func (e *Engine) copyFiles(ctx context.Context, containerID string, layer *openLayer, report func(event.Body)) error {
	var files []archive.File
	for _, f := range layer.Files {
		if f.Body == nil {
			_, err := e.api.ContainerStatPath(ctx, containerID, client.ContainerStatPathOptions{Path: path.Clean(f.Path)})
			if err == nil {
				continue
			}
			if !errdefs.IsNotFound(err) {
				return fmt.Errorf("look for %s in the base image: %w", f.Path, err)
			}
		}
		files = append(files, f)
	}
	r, w := io.Pipe()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		w.CloseWithError(archive.WriteTar(meter(w, layer.Size, report), files))
	}()
	_, err := e.api.CopyToContainer(ctx, containerID, client.CopyToContainerOptions{DestinationPath: "/", Content: r})
	r.Close()
	<-sent
	return err
}
