package run

import (
	"context"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/attachment"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/terminal"
)

// attachments are the files that go with the query.
type attachments struct {
	infos []event.Attachment
	data  map[string][]byte // by digest
}

// attach reads the files that the user named with --attach, and says which of them are no part of the
// project.
func (pl *plan) attach(ctx context.Context) (attachments, error) {
	o, all := pl.opts, attachments{data: make(map[string][]byte)}
	for _, path := range o.Attach {
		f, err := attachment.Read(ctx, o.Host.Path(path), pl.spec.Workspace.Dir)
		if err != nil {
			return attachments{}, host.Usagef("--attach: %w", err)
		}
		if f.Outside {
			pl.say("%s is attached from outside of the workspace", terminal.CleanLine(path))
		}
		all.infos, all.data[f.Info.Digest] = append(all.infos, f.Info), f.Data
	}
	return all, nil
}
