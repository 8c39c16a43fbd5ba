package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/consent"
	"github.com/perstack-go/perstack/internal/env"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/skills"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/job"
)

// A Question is whether a project gets what its files ask for.
//
// The user answers on a terminal, once for each list of requests; with --yes; or in the user's
// own configuration. Nothing that a project contains can answer: neither its files nor the
// directory that --storage names are looked at.
type Question struct {
	Host      *Host
	Project   consent.Project // its env files and programs are added by Env
	Files     []env.File      // env files of the project
	Named     bool            // the user named them
	Workspace string
	Later     bool // Keep remembers the answer
	// Refused returns why nothing will start, whatever the user answers: then there is no question.
	// It can be nil.
	Refused func() error

	answered []consent.Request // what the user allowed by an answer, now or earlier
}

// Env asks, and reads the env files. Those outside of the project are read after the answer,
// and what they ask for is asked as well.
func (q *Question) Env(ctx context.Context) (env.Env, error) {
	inside := q.split()
	return q.load(inside, func() error { return q.ask(ctx, consent.List) })
}

// Registries asks whether the registries of the project can be asked for Experts.
func (q *Question) Registries(ctx context.Context) error { return q.ask(ctx, consent.Registries) }

// Keep remembers the answer for what a new lockfile pins. Until then nothing is remembered: the
// answer was about code that only this command chose, and not about what others choose later.
func (q *Question) Keep(lock *lockfile.Lock) {
	q.Project.Lock = lock
	list := slices.DeleteFunc(consent.List(q.Project), func(r consent.Request) bool {
		return !slices.ContainsFunc(q.answered, func(a consent.Request) bool { return a.Unpinned().Digest() == r.Unpinned().Digest() })
	})
	if len(list) > 0 && !q.answers().Allow(list) {
		q.remember(list)
	}
}

func (q *Question) remember(list []consent.Request) {
	if err := q.answers().Remember(list); err != nil {
		fmt.Fprintf(q.Host.Stderr, "perstack: warning: %s; you will be asked again\n", terminal.CleanLine(err.Error()))
	}
}

// load reads the env files inside, asks, reads those outside, and asks again.
func (q *Question) load(inside []env.File, ask func() error) (_ env.Env, err error) {
	if q.Project.Programs, err = q.programs(); err != nil {
		return q.Project.Env, &ExitError{Code: ExitUsage, Err: err}
	}
	if q.Project.Env, err = q.read(inside); err == nil {
		err = ask()
	}
	if err == nil && len(inside) < len(q.Files) {
		if q.Project.Env, err = q.read(q.Files); err == nil {
			err = ask()
		}
	}
	return q.Project.Env, err
}

// Peek returns the requests, also with an error. It asks nothing: an env file outside of the
// project is read only if the user has allowed it already.
func (q *Question) Peek() (env.Env, []consent.Request, error) {
	values, err := q.load(q.split(), func() error {
		open, err := q.open(consent.List(q.Project))
		if err == nil && slices.ContainsFunc(open, func(r consent.Request) bool { return r.Kind == manifest.RequestEnvFiles }) {
			err = errNotAllowed
		}
		return err
	})
	if errors.Is(err, errNotAllowed) {
		err = nil
	}
	return values, consent.List(q.Project), err
}

var errNotAllowed = errors.New("not allowed")

// split notes the env files outside of the project, and returns the others. Without envPath,
// they are those of the working directory, which is the user's choice.
func (q *Question) split() (inside []env.File) {
	q.Project.Workspace = q.Workspace
	if q.Named {
		return q.Files
	}
	dirs := []string{q.Project.Config.Dir}
	if q.Project.Config.EnvPath == nil {
		dirs = append(dirs, q.Host.Dir)
	}
	q.Project.Outside = consent.Outside(q.Files, dirs...)
	for _, f := range q.Files {
		if !slices.ContainsFunc(q.Project.Outside, func(o consent.OutsideFile) bool { return o.Path == f.Path }) {
			inside = append(inside, f)
		}
	}
	return inside
}

func (q *Question) read(files []env.File) (env.Env, error) {
	values, err := env.Load(q.Host.Environ, files)
	if err != nil {
		return values, &ExitError{Code: ExitUsage, Err: err}
	}
	q.Host.HideProject(q.Project.Config, values)
	return values, nil
}

// open returns the requests that the user has not allowed yet.
func (q *Question) open(list []consent.Request) ([]consent.Request, error) {
	if len(list) == 0 {
		return nil, nil
	}
	dir := q.Project.Config.Dir
	config, err := q.Host.userConfig(dir, q.Workspace)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(r consent.Request) bool { return q.Host.allows(config, dir, r.Kind) })
	if len(list) > 0 && (q.answers().Allow(list) || allIn(list, q.answered)) {
		q.answered = list
		return nil, nil
	}
	return list, nil
}

func allIn(list, other []consent.Request) bool {
	return !slices.ContainsFunc(list, func(r consent.Request) bool {
		return !slices.ContainsFunc(other, func(o consent.Request) bool { return o.Digest() == r.Digest() })
	})
}

// programs finds what the skills that get variables are started from in the workspace.
func (q *Question) programs() (map[*expert.Skill]consent.Program, error) {
	all := make(map[*expert.Skill]consent.Program)
	for _, e := range q.Project.Experts {
		for _, s := range e.Servers() {
			if len(s.RequiredEnv) == 0 {
				continue
			}
			found, err := q.program(s)
			if err != nil {
				return nil, fmt.Errorf("skill %q of %q: %w", s.Name, e.Key, err)
			}
			all[s] = found
		}
	}
	return all, nil
}

func (q *Question) program(s *expert.Skill) (found consent.Program, err error) {
	runtime := q.Project.Resolved.Runtime
	p, err := skills.ProgramOf(s, q.Workspace, runtime)
	if err != nil {
		return found, err
	}
	if found.Digest, err = p.Digest(); err != nil {
		return found, err
	}
	for _, file := range p.Bare {
		found.Alone = append(found.Alone, file.File)
	}
	found.Modules = p.Modules
	for _, l := range p.Loaders {
		found.Loads = append(found.Loads, l.Name)
	}
	if runtime == job.Docker {
		return found, nil // PATH is that of the container
	}
	named, err := skills.HoldPrograms([]*expert.Expert{{Skills: []*expert.Skill{s}}}, q.Workspace, q.Host.Environ)
	for _, digest := range named {
		found.Named += digest // there is one at most
	}
	return found, err
}

// answers are those that the user gave in this project. Without a state directory, or with one
// in the workspace, nothing is remembered.
func (q *Question) answers() consent.Answers {
	dir, err := q.Host.StateDir()
	if err != nil {
		return consent.Answers{}
	}
	project, err := dir.Project(q.Project.Config.Dir)
	if err != nil || q.Host.planted(project.State, q.Project.Config.Dir, q.Workspace) != nil {
		return consent.Answers{}
	}
	return consent.Answers{Dir: project.State}
}

// ask returns an error unless the user allows all requests that of lists.
func (q *Question) ask(ctx context.Context, of func(consent.Project) []consent.Request) error {
	list, err := q.open(of(q.Project))
	if err != nil || len(list) == 0 {
		return err
	}
	if q.Refused != nil {
		if err := q.Refused(); err != nil {
			return err
		}
	}
	h, file := q.Host, terminal.CleanLine(q.asker())
	if q.Host.Yes {
		covered := slices.DeleteFunc(slices.Clone(list), func(r consent.Request) bool { return r.Explicit })
		list = slices.DeleteFunc(list, func(r consent.Request) bool { return !r.Explicit })
		if len(covered) > 0 {
			fmt.Fprintf(h.Stderr, "perstack: allowed by --yes, as %s asks:\n%s", file, q.rows(covered))
		}
		if len(list) == 0 {
			return nil
		}
	}
	rows := q.rows(list)
	if !h.CanConfirm() {
		return Usagef("%s asks for what you have not allowed:\n%s%s", file, rows, q.hint(list))
	}
	if len(rows) > maxQuestion {
		return Usagef("%s has %s, which are more than fit into a question; read them with %s validate; %s", file, wording.Count(len(list), "request"), h.Command, q.hint(list))
	}
	yes, err := h.Confirm(ctx, "perstack: %s asks for more than the defaults:\n%sAllow %s? You are asked again only if the project asks for something else, or with other code.",
		file, rows, countThem(len(list)))
	switch {
	case err != nil:
		return err
	case !yes:
		return Usagef("not allowed; nothing was started")
	}
	if err := q.unchanged(list, of); err != nil {
		return err
	}
	if q.answered = list; !q.Later {
		q.remember(list)
	}
	return nil
}

// asker names what asks: the file, or the published Expert that runs without one.
func (q *Question) asker() string {
	c := q.Project.Config
	if c.Absent && len(q.Project.Published) > 0 {
		return q.Project.Published[0].Key
	}
	return c.Path
}

// unchanged returns an error if the user was asked about other code than there is now.
func (q *Question) unchanged(shown []consent.Request, of func(consent.Project) []consent.Request) (err error) {
	if q.Project.Programs, err = q.programs(); err != nil {
		return &ExitError{Code: ExitUsage, Err: err}
	}
	if now, err := q.open(of(q.Project)); err != nil || allIn(now, shown) {
		return err
	}
	return Usagef("the program of a skill changed while you were asked; nothing was started")
}

// maxQuestion is how much a question shows, in bytes. More would scroll out of sight on many
// terminals, and what was seen least could be what matters most.
const maxQuestion = 32 << 10

func countThem(n int) string {
	if n == 1 {
		return "this"
	}
	return fmt.Sprintf("all %d", n)
}

// rows shows requests, one on each line. Their text is that of untrusted files.
func (q *Question) rows(list []consent.Request) string {
	var b strings.Builder
	for _, r := range list {
		where := r.File
		if rel, err := filepath.Rel(q.Project.Config.Dir, where); err == nil && where != "" && filepath.IsLocal(rel) {
			where = rel
		}
		if r.Line > 0 {
			where += fmt.Sprintf(":%d", r.Line)
		}
		fmt.Fprintf(&b, "  %s: %s", r.Kind, terminal.RevealLine(r.Text))
		if where != "" {
			fmt.Fprintf(&b, " (%s)", terminal.RevealLine(where))
		}
		b.WriteString("\n")
		for _, line := range r.More {
			fmt.Fprintf(&b, "      %s\n", terminal.RevealLine(line))
		}
	}
	return b.String()
}

// hint says how a user without a terminal allows the requests.
func (q *Question) hint(list []consent.Request) string {
	var kinds, flags []string
	general := false
	for _, r := range list {
		if !slices.Contains(kinds, string(r.Kind)) {
			kinds = append(kinds, string(r.Kind))
		}
		if flag := explicitFlag(r); r.Explicit && !slices.Contains(flags, flag) {
			flags = append(flags, flag)
		}
		general = general || !r.Explicit
	}
	var hints []string
	if general && !q.Host.Yes {
		hints = append(hints, "add --yes")
	}
	if len(flags) > 0 {
		hints = append(hints, "say it yourself with "+wording.And(flags)+", which --yes does not cover")
	}
	trusted := "the project"
	if slices.Equal(kinds, []string{string(manifest.RequestPublished)}) {
		trusted = "the Expert"
	}
	text := "if you trust " + trusted + ", " + strings.Join(hints, ", and ")
	if path := q.Host.UserConfigPath(); path != "" {
		text += fmt.Sprintf("; or allow %s in %s", wording.And(kinds), terminal.CleanLine(path))
	}
	return text
}

// explicitFlag is the flag with which the user asks for the same as a file.
func explicitFlag(r consent.Request) string {
	path := terminal.ShellJoin(terminal.CleanLine(r.Value))
	switch {
	case r.Kind == manifest.RequestProxy:
		return "--proxy squid"
	case r.Kind == manifest.RequestRegistries:
		return "[registries.default] in your configuration"
	case r.Kind == manifest.RequestPublished:
		return "the key " + path
	case r.Kind != manifest.RequestSandbox:
		return "--env-path"
	case strings.HasPrefix(r.Path, "sandbox.readable"):
		return "--sandbox-read " + path
	case strings.HasPrefix(r.Path, "sandbox.writable"):
		return "--sandbox-write " + path
	case r.Path == "sandbox.network":
		return "--sandbox-network host"
	}
	return "--sandbox=off"
}

// CanConfirm reports whether there is a user to ask.
func (h *Host) CanConfirm() bool {
	return h.Confirmer != nil && !h.NoInput || h.CanAsk()
}

// CanAsk reports whether a user is at a terminal, and wants to be asked.
func (h *Host) CanAsk() bool { return h.StdinIsTerminal && h.StderrIsTerminal && !h.NoInput }

// Confirm asks a question on the terminal, or through the Confirmer.
func (h *Host) Confirm(ctx context.Context, question string, args ...any) (bool, error) {
	text := fmt.Sprintf(question, args...)
	if h.Confirmer != nil {
		return h.Confirmer(ctx, text)
	}
	fmt.Fprint(h.Stderr, text)
	// What was typed before the question could be read is no answer to it.
	if in, ok := h.Stdin.(*os.File); ok {
		if err := dropTyped(int(in.Fd())); err != nil {
			return false, fmt.Errorf("drop what was typed before the question: %w", err)
		}
	}
	fmt.Fprint(h.Stderr, " [y/N] ")
	return h.answer(ctx)
}

// answer reads a line of the terminal. Only y and yes are a yes: not the Enter key, and not the
// end of the input.
func (h *Host) answer(ctx context.Context) (bool, error) {
	done := make(chan string, 1)
	go func() {
		// One byte at a time: what follows belongs to the next reader, such as that of the query.
		var line []byte
		next := make([]byte, 1)
		for len(line) < 64 {
			n, err := h.Stdin.Read(next)
			if err != nil || n == 1 && next[0] == '\n' {
				break
			}
			line = append(line, next[:n]...)
		}
		done <- string(line)
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(h.Stderr)
		return false, context.Cause(ctx)
	case line := <-done:
		word := strings.ToLower(strings.TrimSpace(line))
		return word == "y" || word == "yes", nil
	}
}
