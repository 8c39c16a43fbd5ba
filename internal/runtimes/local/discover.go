package local

import (
	"context"
	"sync"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/job"
)

// maxParallel is how many servers are asked at the same time.
const maxParallel = 4

// Discover lists the tools of all MCP skills of a Spec, in the isolation that a job of it has.
// Packages are those of its lockfile. Found is told each outcome, and report what servers write;
// both can be called from several goroutines.
func Discover(ctx context.Context, spec job.Spec, parts engine.Parts, report func(key, skill, line string), found func(key string, skill *lockfile.Skill, name string, err error)) error {
	at, err := prepare(ctx, &spec, parts, offeredTo(parts))
	if err != nil {
		return err
	}
	defer at.close()
	slots := make(chan struct{}, maxParallel)
	var group sync.WaitGroup
	for _, e := range spec.Experts {
		for _, k := range e.Servers() {
			slots <- struct{}{}
			group.Go(func() {
				defer func() { <-slots }()
				entry, err := at.discover(ctx, e, k, report)
				found(e.Key, entry, k.Name, err)
			})
		}
	}
	group.Wait()
	return nil
}

func (p *place) discover(ctx context.Context, e *expert.Expert, k *expert.Skill, report func(key, skill, line string)) (*lockfile.Skill, error) {
	var pinned *lockfile.Package
	locked, _ := p.site.Lock.Expert(e.Key)
	if entry, ok := locked.Skill(k.Name); ok {
		pinned = entry.Package
	}
	return p.site.Discover(ctx, e.Key, k, pinned, func(b event.Body) {
		if line, ok := b.(event.SkillStderr); ok {
			report(e.Key, k.Name, line.Message)
		}
	})
}
