package docker

import (
	"crypto/rand"
	"encoding/hex"

	"github.com/moby/moby/client"

	"github.com/perstack-go/perstack/internal/owner"
)

// Everything that a run has on the daemon carries these labels from the moment it exists,
// so that it can be found and removed whatever becomes of the run.
const (
	labelKind  = "dev.perstack"       // always kindRun
	labelJob   = "dev.perstack.job"   // of the user's
	labelRun   = "dev.perstack.run"   // one start of perstack
	labelOwner = "dev.perstack.owner" // the process; see owner.Identity
)

const kindRun = "run"

// newStart returns the id of this start, for names and labels.
func newStart() string {
	id := make([]byte, 6)
	_, _ = rand.Read(id) // it never fails
	return hex.EncodeToString(id)
}

// ownLabels returns the labels for what this process makes.
func ownLabels(jobID, start string) map[string]string {
	return map[string]string{
		labelKind:  kindRun,
		labelJob:   jobID,
		labelRun:   start,
		labelOwner: owner.This().String(),
	}
}

// ofRuns finds what runs have on the daemon, of whatever process.
func ofRuns() client.Filters {
	return make(client.Filters).Add("label", labelKind+"="+kindRun)
}

// ofStart finds what one start has on the daemon.
func ofStart(start string) client.Filters {
	return ofRuns().Add("label", labelRun+"="+start)
}

// isOrphan reports whether an object with these labels belongs to a process that is
// certainly gone. A list is filtered by the daemon; what is removed is decided here.
func isOrphan(labels map[string]string) bool {
	if labels[labelKind] != kindRun {
		return false
	}
	id, err := owner.Parse(labels[labelOwner])
	return err == nil && id.Dead()
}
