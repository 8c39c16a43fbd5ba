package run

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/model/replay"
)

// A setup is what flags, perstack.toml and defaults add up to.
type setup struct {
	opts   *Options
	config *expert.Config

	workspace  string
	provider   string
	modelName  string
	envFiles   []string
	maxSteps   int
	maxRetries int
	timeout    time.Duration
	reasoning  expert.ReasoningBudget
}

// loadSetup reads perstack.toml and the env files.
func loadSetup(o *Options) (*setup, error) {
	h := o.Host
	path, err := expert.Locate(h.Dir, o.Config)
	if err != nil {
		return nil, &host.ExitError{Code: host.ExitUsage, Err: err}
	}
	config, problems, err := expert.Load(path)
	if err != nil {
		return nil, &host.ExitError{Code: host.ExitUsage, Err: err}
	}
	for _, w := range problems.Warnings() {
		fmt.Fprintln(h.Stderr, "perstack: "+host.Clean(w.String()))
	}
	if err := problems.Err(); err != nil {
		return nil, err
	}
	s := &setup{
		opts:       o,
		config:     config,
		workspace:  h.Path(cmp.Or(o.Workspace, ".")),
		provider:   cmp.Or(o.Provider, config.Provider.Name, expert.DefaultProvider),
		maxSteps:   choose(o.MaxSteps, config.MaxSteps, expert.DefaultMaxSteps),
		maxRetries: choose(o.MaxRetries, config.MaxRetries, expert.DefaultMaxRetries),
		timeout:    expert.DefaultTimeout,
		reasoning:  cmp.Or(config.ReasoningBudget, expert.DefaultReasoningBudget),
	}
	if config.Timeout != nil {
		s.timeout = *config.Timeout
	}
	if o.TimeoutMS != nil {
		s.timeout = time.Duration(*o.TimeoutMS) * time.Millisecond
	}
	s.modelName = cmp.Or(config.Model, expert.DefaultModel(s.provider))
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

// loadEnv reads the env files. Their paths are kept from the file tools.
func (s *setup) loadEnv() error {
	h := s.opts.Host
	files := expert.EnvFiles(h.Dir, h.Home, s.opts.EnvPath, s.config)
	for _, f := range files {
		s.envFiles = append(s.envFiles, f.Path)
	}
	env, err := expert.LoadEnv(h.Environ, files)
	if err != nil {
		return &host.ExitError{Code: host.ExitUsage, Err: err}
	}
	for _, notice := range env.Notices() {
		s.opts.logger().Debug(notice)
	}
	return nil
}

// rules are the files that say what the Expert may do. No tool may change them.
func (s *setup) rules() []string {
	files := []string{s.config.Path, filepath.Join(s.config.Dir, "perstack.lock")}
	if path := s.cassettePath(); path != "" {
		files = append(files, path)
	}
	return files
}

// cassettePath is where the answers of the replay model are; empty when nobody said.
func (s *setup) cassettePath() string {
	switch {
	case s.opts.Cassette != "":
		return s.opts.Host.Path(s.opts.Cassette)
	case s.config.Provider.Name == "replay": // settings belong to the provider they stand with
		return s.config.Provider.Setting.Cassette
	}
	return ""
}

// expert finds the Expert to run.
func (s *setup) expert(key string) (*expert.Expert, error) {
	if _, err := expert.ParseKey(key); err != nil {
		return nil, &host.ExitError{Code: host.ExitUsage, Err: err}
	}
	e, ok := s.config.Lookup(key)
	if !ok {
		return nil, host.Usagef("expert %q not found in %s; it has: %s", key, s.config.Path, s.expertList())
	}
	problems := s.config.Unsupported(e, s.opts.Provider, "")
	for _, w := range problems.Warnings() {
		fmt.Fprintln(s.opts.Host.Stderr, "perstack: "+host.Clean(w.String()))
	}
	return e, problems.Err()
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

// model returns the model that thinks for the run.
func (s *setup) model() (model.Model, error) {
	if s.opts.Cassette != "" && s.provider != "replay" {
		return nil, host.Usagef("--cassette goes with --provider replay, not %s", s.provider)
	}
	path := s.cassettePath()
	if path == "" {
		return nil, host.Usagef("the replay provider needs a cassette; give it with --cassette or as cassette in [provider.setting]")
	}
	cassette, err := replay.Load(path)
	if err != nil {
		return nil, &host.ExitError{Code: host.ExitUsage, Err: err}
	}
	return replay.New(cassette), nil
}
