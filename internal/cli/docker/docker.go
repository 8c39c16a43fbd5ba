// Package docker is the command perstack docker: what perstack keeps on the container
// daemon, seen by the user.
//
// Its only command so far is prune, which removes images that no run would use again and
// what killed runs left. Runs themselves are perstack run --runtime docker. Start reading
// at [New], then [Options].
package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/runtimes/docker"
	"github.com/perstack-go/perstack/internal/wording"
)

// New returns the command with those below it. pruneF, if set, is called instead of
// pruning.
func New(h *host.Host, pruneF func(context.Context, *Options) error) *cobra.Command {
	return h.AddBelow(&cobra.Command{
		Use:   "docker",
		Short: "Remove images and containers that perstack no longer uses",
		Long: `Remove what perstack has left in Docker. To run an Expert in a container, use
perstack run --runtime docker.`,
		Example: `  perstack docker prune`,
	}, newPrune(h, pruneF))
}

// Options are what prune works with.
type Options struct {
	Host       *host.Host
	Executable func() (string, error) // path of this program

	All  bool
	Yes  bool // do not ask
	JSON bool
}

func newPrune(h *host.Host, runF func(context.Context, *Options) error) *cobra.Command {
	opts := &Options{Host: h, Executable: os.Executable}
	if runF == nil {
		runF = prune
	}
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Remove images, containers and networks that no run will use",
		Long: `Remove from Docker:
  - images that older versions of perstack made
  - images for base images that were replaced
  - packages of skills that no image uses
  - containers and networks of runs whose process has ended

Images that the next run would use are kept. --all removes them, too; the next run
makes them again, which takes a few seconds. Images that a container uses are never
removed, nor anything that perstack did not make, such as images that it pulled, nor the
images of other users of the same Docker daemon.

On a terminal you are asked first. Elsewhere, --yes is needed.`,
		Example: `  perstack docker prune
  perstack docker prune --all
  perstack docker prune --yes --json | jq .bytes`,
		Args:              host.NoArgs("it finds what is perstack's by itself"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runF(cmd.Context(), opts)
		},
	}
	cmd.Flags().BoolVarP(&opts.All, "all", "a", false, "also remove the images that the next run would use")
	cmd.Flags().BoolVarP(&opts.Yes, "yes", "y", false, "remove without asking")
	cmd.Flags().BoolVar(&opts.JSON, "json", false, "print what was removed as JSON")
	return cmd
}

func prune(ctx context.Context, opts *Options) (err error) {
	h := opts.Host
	if err := opts.confirm(ctx); err != nil {
		return err
	}
	d, err := docker.Connect(ctx, h.Getenv, h.Home)
	if err != nil {
		return err
	}
	defer d.Close()
	var keep docker.ImageSpec
	if !opts.All {
		if keep, err = opts.current(d.Arch); err != nil {
			return fmt.Errorf("which image is of use cannot be told: %w; perstack docker prune --all removes them all", err)
		}
	}
	pruned, err := d.Prune(ctx, opts.All, keep)
	// What was removed before something failed is gone as well.
	if opts.JSON {
		return errors.Join(err, host.WriteJSON(h.Stdout, pruned))
	}
	if err != nil && pruned == (docker.Pruned{}) {
		return err
	}
	return errors.Join(err, printWords(h.Stdout, pruned))
}

// confirm asks the user before anything is removed.
func (o *Options) confirm(ctx context.Context) error {
	what := "your images of perstack that the next run would not use"
	if o.All {
		what = "all your images of perstack"
	}
	return o.Host.Agree(ctx, o.Yes, "docker prune removes images, containers and networks of perstack",
		fmt.Sprintf("This removes %s, and containers and networks of ended runs. Continue?", what))
}

// current is what a run would make its image of.
func (o *Options) current(arch string) (docker.ImageSpec, error) {
	executable, err := o.Executable()
	if err != nil {
		return docker.ImageSpec{}, err
	}
	return docker.Parts(executable, o.Host.Getenv, arch)
}

func printWords(w io.Writer, p docker.Pruned) error {
	var removed []string
	if p.Images > 0 {
		removed = append(removed, fmt.Sprintf("%s (%.1f MB)", wording.Count(p.Images, "image"), float64(p.Bytes)/1e6))
	}
	if p.Containers > 0 {
		removed = append(removed, wording.Count(p.Containers, "container"))
	}
	if p.Networks > 0 {
		removed = append(removed, wording.Count(p.Networks, "network"))
	}
	text := "nothing to remove"
	if len(removed) > 0 {
		text = "removed " + wording.And(removed)
	}
	if p.InUse > 0 {
		text += "\n" + wording.Count(p.InUse, "image") + " in use by a container: kept"
	}
	_, err := fmt.Fprintln(w, text)
	return err
}
