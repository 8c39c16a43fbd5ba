package skills

import (
	"context"
	"errors"
	"sync"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/packages"
)

// A parcel is the package of a skill, which is fetched once for all starts of its
// server: a server that is started again is the same one, also if the registry has a
// newer version by then.
type parcel struct {
	asked expert.Package
	note  func(string) // told what happens, for showing

	mu     sync.Mutex
	pinned *lockfile.Package // nil until it is known
	argv   []string          // how it is started; nil until it is installed
}

// parcel returns the package of a skill; nil if it has none that we fetch. Those of uvx are
// ours only where nothing is fetched. Without a pinned one, it is what its name stands for
// when it is opened.
func (s *set) parcel(k *expert.Skill, pinned *lockfile.Package) *parcel {
	p, ok := k.Package()
	sealed := s.site.Packages != nil && s.site.Packages.Sealed
	if !ok || p.Manager != "npx" && !sealed {
		return nil
	}
	return &parcel{asked: p, pinned: pinned, note: func(text string) {
		s.req.Report(event.SkillStderr{SkillName: k.Name, Message: text})
	}}
}

var errNoStore = errors.New("there is no directory to keep packages in; set CacheDir")

// open fetches the package, if that was not done yet, and returns how it is started.
func (p *parcel) open(ctx context.Context, from *packages.Store) (argv []string, version string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if from == nil || from.Dir == "" {
		return nil, "", errNoStore
	}
	if p.pinned == nil {
		if p.pinned, err = from.Resolve(ctx, p.asked, p.note); err != nil {
			return nil, "", err
		}
	}
	if p.argv == nil {
		if p.argv, err = from.Install(ctx, p.pinned, p.asked.Program, p.note); err != nil {
			return nil, "", err
		}
	}
	return p.argv, p.pinned.Version, nil
}
