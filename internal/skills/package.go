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

// A skillPackage is the package of a skill. It is fetched once: a server that is started again
// has the same version, even if the registry has a newer one by then.
type skillPackage struct {
	declared expert.Package
	report   func(string) // told what happens, for showing

	mu     sync.Mutex
	pinned *lockfile.Package // nil until it is known
	argv   []string          // how it is started; nil until it is installed
}

// packageOf returns the package of a skill; nil if perstack does not fetch it. Packages of uvx
// are used from the store only if it is sealed. Without a pin the package is resolved when it is
// installed.
func (s *set) packageOf(k *expert.Skill, pinned *lockfile.Package) *skillPackage {
	p, ok := k.Package()
	sealed := s.site.Packages != nil && s.site.Packages.Sealed
	if !ok || p.Manager != "npx" && !sealed {
		return nil
	}
	return &skillPackage{declared: p, pinned: pinned, report: func(text string) {
		s.req.Report(event.SkillStderr{SkillName: k.Name, Message: text})
	}}
}

var errNoStore = errors.New("there is no directory to keep packages in; set CacheDir")

// install fetches the package unless that was done before, and returns how it is started.
func (p *skillPackage) install(ctx context.Context, from *packages.Store) (argv []string, version string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if from == nil || from.Dir == "" {
		return nil, "", errNoStore
	}
	if p.pinned == nil {
		if p.pinned, err = from.Resolve(ctx, p.declared, p.report); err != nil {
			return nil, "", err
		}
	}
	if p.argv == nil {
		if p.argv, err = from.Install(ctx, p.pinned, p.declared.Program, p.report); err != nil {
			return nil, "", err
		}
	}
	return p.argv, p.pinned.Version, nil
}
