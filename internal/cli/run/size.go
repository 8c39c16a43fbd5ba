package run

import (
	"fmt"
	"math"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/internal/cli/host"
)

// maxBytes is how many bytes the workspace may take: the flag, else the file's value,
// else 0 for no limit.
func (s *setup) maxBytes() int64 {
	switch {
	case s.opts.MaxWorkspaceBytes != 0:
		return int64(s.opts.MaxWorkspaceBytes)
	case s.config.MaxWorkspaceBytes != nil:
		return *s.config.MaxWorkspaceBytes
	}
	return 0
}

// tooLarge says that the workspace takes too many bytes, and the two ways out.
func (o *Options) tooLarge(jobID string, l *engine.LimitError) error {
	used, allowed := int64(l.Used), int64(l.Max)
	more := *o
	more.MaxWorkspaceBytes = host.Bytes(2 * min(max(used, allowed), math.MaxInt64/2))
	return fmt.Errorf("stopped: the workspace takes %d bytes or more, and %d are allowed (maxWorkspaceBytes); delete something, or allow more and go on with: %s",
		used, allowed, more.again(jobID))
}
