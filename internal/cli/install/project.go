package install

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/terminal"
)

// A project is the file that is installed, with the environment of its skills.
type project struct {
	opts   *Options
	config *expert.Config
	env    expert.Env

	mu sync.Mutex // one line of progress at a time
}

// load reads perstack.toml and the env files.
func load(opts *Options) (*project, error) {
	h := opts.Host
	path, err := expert.Locate(h.Dir, opts.Config)
	if err != nil {
		return nil, &host.ExitError{Code: host.ExitUsage, Err: err}
	}
	config, problems, err := expert.Load(path)
	if err != nil {
		return nil, &host.ExitError{Code: host.ExitUsage, Err: err}
	}
	for _, w := range problems.Warnings() {
		fmt.Fprintln(h.Stderr, "perstack: "+terminal.Clean(w.String()))
	}
	if err := problems.Err(); err != nil {
		return nil, err
	}
	p := &project{opts: opts, config: config}
	if opts.Check {
		return p, nil // no skill is started, so none needs a variable
	}
	p.env, err = expert.LoadEnv(h.Environ, expert.EnvFiles(h.Dir, h.Home, opts.EnvPath, config))
	if err != nil {
		return nil, &host.ExitError{Code: host.ExitUsage, Err: err}
	}
	p.hideSecrets()
	return p, nil
}

// hideSecrets tells the host what must not be printed: a server may repeat what it is given.
func (p *project) hideSecrets() {
	h := p.opts.Host
	h.HideSecrets(p.env.Get)
	for _, e := range p.config.Experts {
		for _, s := range e.Skills {
			for _, name := range s.RequiredEnv {
				h.Secrets.AddIfRandom(name, p.env.Get(name))
			}
			for _, header := range s.Headers {
				// "Bearer KEY": the key alone must not be seen either.
				if words := strings.Fields(header.Value); len(words) > 0 {
					h.Secrets.AddIfRandom(header.Name, words[len(words)-1])
				}
			}
		}
	}
	for name, value := range p.env.InFiles() {
		h.Secrets.AddIfRandom(name, value)
	}
}

// oldLock is the lockfile that is there; nil if there is none. A broken one is mended by
// writing it anew, and the user is told: nothing of it is kept.
func (p *project) oldLock() *expert.Lock {
	old, err := p.config.ReadLock()
	if err != nil {
		p.warn("the lockfile cannot be used, so every skill is asked anew: " + strings.ReplaceAll(err.Error(), "; run: perstack install", ""))
		return nil
	}
	return old
}

// noteMissing names the delegates that nobody can pin: those that the file does not have.
func (p *project) noteMissing() {
	for _, e := range p.config.Experts {
		for _, key := range e.Delegates {
			if _, ok := p.config.Lookup(key); !ok {
				p.warn(fmt.Sprintf("%q delegates to %q, which is not in the file; this version cannot lock it yet", e.Key, key))
			}
		}
	}
}

// say prints a line of progress. It may be called from several goroutines. Lines are
// written whole, so that a pipe gets them as well as a terminal.
func (p *project) say(format string, args ...any) {
	h := p.opts.Host
	// Cleaned first: a secret with something invisible in it is one again afterwards.
	line := h.Secrets.Redact(terminal.Clean(fmt.Sprintf(format, args...)))
	p.mu.Lock()
	defer p.mu.Unlock()
	// Whoever closed the output does not want to see it; the lockfile they do want.
	_, _ = fmt.Fprintln(h.Stdout, line)
}

func (p *project) warn(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintln(p.opts.Host.Stderr, "perstack: "+terminal.Clean(text))
}

func (p *project) logger() *slog.Logger {
	h := p.opts.Host
	return slog.New(slog.NewTextHandler(h.Secrets.Writer(h.Stderr), &slog.HandlerOptions{Level: slog.LevelWarn}))
}
