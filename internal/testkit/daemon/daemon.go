// Package daemon is a real Docker daemon for tests, and the programs and images that
// they run on it. No image is pulled: all are made here, of static programs.
//
// A test that starts with [Need] is skipped on a machine without a daemon, and fails in
// CI. What a test makes has a name of its own ([Name]) and is removed when it ends.
package daemon

import (
	"context"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"github.com/perstack-go/perstack/internal/testkit"
)

// Need returns a connection to the daemon of this machine.
func Need(tb testing.TB) *client.Client {
	tb.Helper()
	api, err := client.New(client.FromEnv)
	if err != nil {
		testkit.Missing(tb, "a Docker daemon: "+err.Error())
	}
	tb.Cleanup(func() { api.Close() })
	ctx, cancel := context.WithTimeout(tb.Context(), 30*time.Second)
	defer cancel()
	ping, err := api.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true})
	if err != nil {
		testkit.Missing(tb, "a Docker daemon: "+err.Error())
	}
	if ping.OSType != "linux" {
		testkit.Missing(tb, "a Docker daemon for Linux: this one is for "+ping.OSType)
	}
	return api
}

// Name is a name that nothing else on the daemon has.
func Name(tb testing.TB) string {
	return "perstack-test-" + strings.ToLower(rand.Text()[:12])
}

// RemoveContainer removes a container when the test ends, running or not.
func RemoveContainer(tb testing.TB, api *client.Client, container string) {
	tb.Cleanup(func() {
		ctx, cancel := leaving()
		defer cancel()
		_, err := api.ContainerRemove(ctx, container, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
		if err != nil && !errdefs.IsNotFound(err) {
			tb.Errorf("container %s is left: %v", container, err)
		}
	})
}

// RemoveNetwork removes a network when the test ends.
func RemoveNetwork(tb testing.TB, api *client.Client, network string) {
	tb.Cleanup(func() {
		ctx, cancel := leaving()
		defer cancel()
		_, err := api.NetworkRemove(ctx, network, client.NetworkRemoveOptions{})
		if err != nil && !errdefs.IsNotFound(err) {
			tb.Errorf("network %s is left: %v", network, err)
		}
	})
}

// RemoveImage removes an image, or a name of one, when the test ends.
func RemoveImage(tb testing.TB, api *client.Client, image string) {
	tb.Cleanup(func() {
		ctx, cancel := leaving()
		defer cancel()
		_, err := api.ImageRemove(ctx, image, client.ImageRemoveOptions{Force: true, PruneChildren: true})
		if err != nil && !errdefs.IsNotFound(err) {
			tb.Errorf("image %s is left: %v", image, err)
		}
	})
}

// RemoveAbove removes the images that perstack has made on top of one, when the test ends.
// The image must be the test's own: see [NodeImage].
func RemoveAbove(tb testing.TB, api *client.Client, image string) {
	tb.Cleanup(func() {
		ctx, cancel := leaving()
		defer cancel()
		removeAbove(ctx, tb, api, image)
	})
}

func removeAbove(ctx context.Context, tb testing.TB, api *client.Client, image string) {
	above, err := api.ImageList(ctx, client.ImageListOptions{Filters: make(client.Filters).Add("label", "dev.perstack.base="+image)})
	if err != nil {
		tb.Errorf("images on %s are left: %v", image, err)
		return
	}
	for _, i := range above.Items {
		removeAbove(ctx, tb, api, i.ID)
		_, err := api.ImageRemove(ctx, i.ID, client.ImageRemoveOptions{Force: true, PruneChildren: true})
		if err != nil && !errdefs.IsNotFound(err) {
			tb.Errorf("image %s is left: %v", i.ID, err)
		}
	}
}

// leaving is the context of clean-up: that of the test is done by then.
func leaving() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), time.Minute)
}
