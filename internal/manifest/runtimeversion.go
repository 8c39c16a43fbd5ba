package manifest

import (
	"strings"

	"golang.org/x/mod/semver"

	"github.com/perstack-go/perstack/internal/wording"
)

// originalVersion is what the original Perstack writes for every Expert. It counts the releases of
// the original, so it says nothing about this program.
const originalVersion = "v1.0"

// minRuntimeVersion compares what an Expert needs with this program. A build between releases can
// have what the next release has, so it warns and runs.
func (u *use) minRuntimeVersion() {
	text := u.expert.MinRuntimeVersion
	if text == "" {
		return
	}
	path, needs := u.path("minRuntimeVersion"), semver.Canonical("v"+strings.TrimPrefix(text, "v"))
	switch wants := "the Expert needs perstack " + strings.TrimPrefix(needs, "v") + " or newer, and this is "; {
	case text == originalVersion:
		u.note(path, wording.Quote(text)+" is what the original Perstack writes for every Expert, so it is not compared with this version")
	case needs == "":
		u.report(path, wording.Quote(text)+" is not a version", "write it like 1.2.0")
	case semver.Compare(needs, "v"+u.number) <= 0:
	case u.released:
		u.report(path, wants+u.number, "install a newer perstack")
	default:
		u.note(path, wants+"a build before the release "+u.number+", which may lack what it needs")
	}
}
