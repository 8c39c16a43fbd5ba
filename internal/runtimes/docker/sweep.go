package docker

import (
	"context"
	"fmt"
)

// Sweep removes what runs left behind whose process is gone. It never touches what belongs
// to a living one, or to another machine or container that uses the same daemon.
//
// It cannot meet a run that is just being made: whatever is made has its owner's labels
// from the first moment, and the owner lives.
func (d *Daemon) Sweep(ctx context.Context) (removed int, err error) {
	containers, networks, err := d.sweep(ctx)
	return containers + networks, err
}

func (d *Daemon) sweep(ctx context.Context) (containers, networks int, err error) {
	containers, networks, err = d.remove(ctx, ofRuns(), isOrphan)
	if err != nil {
		err = fmt.Errorf("remove what ended runs left on the Docker daemon: %w", err)
	}
	return containers, networks, err
}
