package run

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/env"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/terminal"
)

// A setup is what flags, perstack.toml and defaults add up to.
type setup struct {
	opts   *Options
	config *manifest.Config

	workspace string
	runtime   string
	provider  string
	modelName string
	env       env.Env
	envFiles  []string

	foreignRules []string // of another project that lies in the workspace

	limits      expert.Limits // of the whole job
	recorded    expert.Limits // what the job was limited to before
	kept        event.Walls   // what its container had before, and nobody says otherwise
	keepsCells  func() error  // asks the kernel whether it can; nil for the usual way
	maxDepth    int
	maxParallel int
	maxRetries  int
	timeout     time.Duration
	reasoning   expert.ReasoningBudget
	asked       expert.ReasoningBudget // reasoning, if a flag or the file says it
}

// loadSetup reads perstack.toml and the env files.
func loadSetup(o *Options) (*setup, error) {
	h := o.Host
	config, err := h.LoadConfig(o.Config)
	if err != nil {
		return nil, err
	}
	s := &setup{
		opts:       o,
		config:     config,
		workspace:  h.Path(cmp.Or(o.Workspace, ".")),
		limits:     jobLimits(o.Limits, config.Limits, expert.Limits{}),
		maxDepth:   cmp.Or(o.MaxDepth, config.MaxDepth, expert.DefaultMaxDepth),
		maxRetries: choose(o.MaxRetries, config.MaxRetries, expert.DefaultMaxRetries),
		timeout:    expert.DefaultTimeout,
		asked:      config.ReasoningBudget,
	}
	if s.maxParallel = cmp.Or(o.MaxParallel, config.MaxParallel, expert.DefaultMaxParallel); h.Reproducible {
		s.maxParallel = 1
	}
	if config.Timeout != nil {
		s.timeout = *config.Timeout
	}
	if o.TimeoutMS != nil {
		s.timeout = time.Duration(*o.TimeoutMS) * time.Millisecond
	}
	if err := s.chooseModel(author{}); err != nil {
		return nil, err
	}
	if o.Reasoning != "" {
		if s.asked, err = expert.ParseReasoningBudget(o.Reasoning); err != nil {
			return nil, host.Usagef("--reasoning-budget: %w", err)
		}
	}
	s.reasoning = cmp.Or(s.asked, expert.DefaultReasoningBudget)
	return s, s.loadEnv()
}

// choose returns the flag if it was given, else the file's value, else the default.
func choose(flag, file *int, otherwise int) int {
	switch {
	case flag != nil:
		return *flag
	case file != nil:
		return *file
	}
	return otherwise
}

// loadEnv reads the env files. Their paths are kept from the file tools, and so is that
// of a credentials file.
func (s *setup) loadEnv() error {
	h := s.opts.Host
	files := manifest.EnvFiles(h.Dir, h.Home, s.opts.EnvPath, s.config)
	for _, f := range files {
		s.envFiles = append(s.envFiles, f.Path)
	}
	var err error
	if s.env, err = env.Load(h.Environ, files); err != nil {
		return &host.ExitError{Code: host.ExitUsage, Err: err}
	}
	for _, notice := range s.env.Notices() {
		s.opts.logger().Debug(notice)
	}
	if path := s.env.Get(host.CredentialsVariable); path != "" {
		s.envFiles = append(s.envFiles, h.Path(path)) // it is a key, wherever it lies
	}
	h.HideProject(s.config, s.env)
	s.keepProject()
	return nil
}

// keepProject keeps from the tools what belongs to the project that lies in the
// workspace, if that is not the one this run was started from. The run does not depend
// on it: what is wrong there does not stop it.
func (s *setup) keepProject() {
	usual := filepath.Join(s.workspace, manifest.FileName)
	if s.opts.Host.Dir == s.workspace && s.config.Path == usual {
		return
	}
	project, err := s.opts.Host.Project(s.workspace)
	if err == nil {
		var theirs env.Env
		theirs, err = env.Load(nil, project.EnvFiles)
		for name, value := range theirs.InFiles() {
			s.opts.Host.Secrets.AddIfRandom(name, value)
		}
	}
	if err != nil {
		s.opts.logger().Debug("the project in the workspace cannot be read", "error", err)
	}
	for _, f := range project.EnvFiles {
		s.envFiles = append(s.envFiles, f.Path)
	}
	s.foreignRules = project.Rules
}

// rules are the files that say what the Expert may do. No tool may change them.
func (s *setup) rules() []string {
	files := append(host.FileRules(s.config), s.foreignRules...)
	if path := s.setting().Cassette; path != "" {
		files = append(files, path)
	}
	return files
}

// expert finds the Expert to run.
func (s *setup) expert(key string) (*expert.Expert, error) {
	if _, err := expert.ParseKey(key); err != nil {
		return nil, host.Usagef("%w%s", err, s.nameFirst())
	}
	e, ok := s.config.Lookup(key)
	if !ok {
		return nil, host.Usagef("expert %q not found in %s; it has: %s%s", key, s.config.Path, s.expertList(), s.nameFirst())
	}
	problems := s.config.Unsupported(e, manifest.Flags{
		Provider: s.provider, Runtime: s.runtime, BaseImage: s.walls().BaseImage, Sandbox: s.sandbox(),
	})
	for _, w := range problems.Warnings() {
		fmt.Fprintln(s.opts.Host.Stderr, "perstack: "+terminal.Clean(w.String()))
	}
	return e, problems.Err()
}

// nameFirst helps those who meant a query for the job that they continue: a single argument
// is the name of an Expert.
func (s *setup) nameFirst() string {
	if !s.opts.continues() || s.opts.Expert == "" || s.opts.HasQuery {
		return ""
	}
	return "; a query stands behind the name of the expert: perstack run <expert> <query>"
}

func (s *setup) expertKeys() []string {
	var keys []string
	for _, e := range s.config.Experts {
		keys = append(keys, e.Key)
	}
	return keys
}

func (s *setup) expertList() string {
	return cmp.Or(strings.Join(s.expertKeys(), ", "), "no experts")
}
