package host

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/approval/grants"
)

// A Grant is a stored answer, with how long it holds.
type Grant struct {
	grants.Grant
	Scope string `json:"scope"` // project or always
}

// Grants are the answers that are stored for a project and for the user.
type Grants struct {
	All   []Grant
	files map[string]grants.File // by scope
	mu    sync.Mutex             // of All
}

// Grants reads the stored answers that count in a project. Neither a flag nor an env file can name
// other files.
func (h *Host) Grants(project, workspace string) (*Grants, error) {
	g := &Grants{files: make(map[string]grants.File)}
	if dir, err := h.StateDir(); err == nil {
		state, err := dir.Project(project)
		if err != nil {
			return g, &ExitError{Code: ExitUsage, Err: err}
		}
		g.files[event.ScopeProject] = grants.File{Path: filepath.Join(state.State, grants.FileName)}
	}
	if path := h.UserConfigPath(); path != "" {
		g.files[event.ScopeAlways] = grants.File{Path: filepath.Join(filepath.Dir(path), grants.FileName)}
	}
	for _, scope := range []string{event.ScopeProject, event.ScopeAlways} {
		file, ok := g.files[scope]
		if !ok {
			continue
		}
		all, err := file.Load()
		if err == nil && len(all) > 0 {
			err = h.planted(file.Path, project, workspace)
		}
		if err != nil {
			return nil, Usagef("%w; nothing of %s counts", err, file.Path)
		}
		for _, one := range all {
			g.All = append(g.All, Grant{one, scope})
		}
	}
	return g, nil
}

// Covers returns the grant that covers a call, in words.
func (g *Grants) Covers(c grants.Call) (string, bool) {
	for _, one := range g.All {
		if _, ok := grants.Covers([]grants.Grant{one.Grant}, c); ok {
			return "grant " + one.ID + ", " + one.holds(), true
		}
	}
	return "", false
}

func (g *Grant) holds() string {
	if g.Scope == event.ScopeAlways {
		return "which holds always"
	}
	return "which holds for the project"
}

// Granted reports whether a stored answer covers a call. It can be called from several goroutines.
func (g *Grants) Granted(r engine.GrantRequest) (string, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.Covers(grants.Call{
		Expert: r.Expert, Skill: r.Call.SkillName, Tool: r.Call.ToolName, Args: r.Call.Args,
		Command: r.Command, Env: r.Env, Opaque: r.Opaque, Digest: r.Digest,
		Host: r.Host, Path: r.Path,
	})
}

// GrantedPaths returns the paths outside of the sandbox that stored answers open to the skill of an
// Expert. It can be called from several goroutines.
func (g *Grants) GrantedPaths(expertKey, skillName string) (paths []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, one := range g.All {
		if one.Path != "" && one.Expert == expertKey && one.Skill == skillName {
			paths = append(paths, one.Path)
		}
	}
	return paths
}

// Remember stores that a call of a job is allowed from now on. With wide, that holds for its program
// and subcommand.
func (g *Grants) Remember(ctx context.Context, scope, jobID string, a *event.Approval, wide bool) error {
	one, ok := grants.New(askedCall(a), wide)
	switch {
	case !ok && wide:
		return fmt.Errorf("only a command with a subcommand, which runs no other program, can be allowed with any arguments")
	case !ok:
		return fmt.Errorf("the arguments of %s cannot be stored", a.Call.ToolName)
	}
	one.Job, one.When = jobID, time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	_, err := g.Add(ctx, scope, one)
	return err
}

// Wider returns the command that can be allowed instead of the exact arguments of a call: a program,
// its subcommand and any words.
func Wider(a *event.Approval) ([]string, bool) { return grants.Wider(askedCall(a)) }

// askedCall returns the call that a question is about. The last of the Experts makes it.
func askedCall(a *event.Approval) grants.Call {
	c := grants.Call{
		Skill: a.Call.SkillName, Tool: a.Call.ToolName, Args: a.Call.Args, Command: a.Effect.Argv,
		Opaque: a.Effect.Opaque, Digest: func() string { return a.Digest },
	}
	for _, variable := range a.Effect.Env {
		name, _, _ := strings.Cut(variable, "=")
		c.Env = append(c.Env, name)
	}
	if a.Effect.LeavesSandbox() {
		c.Host, c.Path = a.Effect.Host, a.Effect.Path
	}
	if len(a.Experts) > 0 {
		c.Expert = a.Experts[len(a.Experts)-1]
	}
	return c
}

// Add stores an answer for the project or for always.
func (g *Grants) Add(ctx context.Context, scope string, one grants.Grant) (Grant, error) {
	file, ok := g.files[scope]
	if !ok {
		return Grant{}, fmt.Errorf("the answer cannot be stored: the home directory is not known")
	}
	stored, err := file.Add(ctx, one)
	if err != nil {
		return Grant{}, err
	}
	g.All = append(g.All, Grant{stored, scope})
	return Grant{stored, scope}, nil
}

// Revoke removes the grant with this id, and reports whether there was one.
func (g *Grants) Revoke(ctx context.Context, id string) (bool, error) {
	i := slices.IndexFunc(g.All, func(one Grant) bool { return one.ID == id })
	if i < 0 {
		return false, nil
	}
	return g.files[g.All[i].Scope].Revoke(ctx, id)
}
