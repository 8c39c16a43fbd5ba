// Package providers opens the model that a run uses, from settings and variables that the
// caller passes in.
//
// Each provider is one row: its facts (key variables, settings, tools) in model/providers.go,
// and how it is opened in table.go. Opening a model sends nothing. A missing key, or an
// address that cannot be right, is reported here, before anything starts.
//
// Start reading at [Open], then table.go. env.go decides which variable wins, and bundle.go
// takes what a model needs into a container.
package providers

import (
	"fmt"
	"net/url"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/userfile"
	"github.com/perstack-go/perstack/model"
)

// A Config says which model a run uses, and what it is opened with.
type Config struct {
	Provider string
	Model    string
	// Setting is [provider.setting] of perstack.toml if the file names this provider. If it
	// names another one, Setting is zero: keys would go to the wrong host.
	Setting expert.Setting
	// Entry is what perstack.toml says about the model.
	Entry expert.ModelEntry
	// File is the path of perstack.toml, for messages.
	File string

	// Variables looks up a variable in the environment and in the env files. It may be nil.
	Variables func(name string) Variable
	// Dir is the directory that relative paths in variables start from; "" is that of the
	// process.
	Dir string
	// ReadFile reads a file that a variable or a setting names, of at most limit bytes; nil
	// means [userfile.Read].
	ReadFile func(path string, limit int64) ([]byte, error)
	// Proxy is the egress proxy if it is the only way out. Every request goes through it,
	// including those for tokens and downloads, and only https is sent. The proxy looks up
	// names. No variable can name another proxy then.
	Proxy *url.URL

	// Expert says which tools and skills of the provider itself are used.
	Expert *expert.Expert
	// OwnTools says that the Expert has other tools as well. Every Expert of the runtime
	// has: at least the one that ends its work.
	OwnTools bool
	// Reasoning is how much the user wants the model to think; "" if the user did not say.
	Reasoning expert.ReasoningBudget

	// Warn is called with a line for the user. It may be nil.
	Warn func(message string)
	// Hide is called with the secrets in files that variables name. It may be nil.
	Hide func(name, value string)

	reached func(address string) // is called with each address that the model will use
	bundled bool                 // everything comes from a [Bundle], nothing from this process
	gcloud  string               // path of gcloud's file in a [Bundle]
}

// Open returns the model. An error is about the configuration.
func Open(c Config) (model.Model, error) {
	if err := model.CheckProvider(c.Provider); err != nil {
		return nil, err
	}
	o := newOpening(c)
	if err := o.checkModel(); err != nil {
		return nil, err
	}
	if err := o.checkMix(); err != nil {
		return nil, err
	}
	m, err := o.provider.open(o)
	if err != nil {
		return nil, err
	}
	o.warnAboutModel()
	return m, nil
}

// A Variable is the value of one, and the env file that it comes from; "" for the
// environment.
type Variable struct{ Value, File string }

// opened keeps a nil pointer out of an interface, which would then not be nil.
func opened[M model.Model](m M, err error) (model.Model, error) {
	if err != nil {
		return nil, err
	}
	return m, nil
}

// opening is a model while it is being opened.
type opening struct {
	Config
	provider provider
	facts    model.Provider
	dry      bool // the model will not be used: no file is read
}

func newOpening(c Config) *opening {
	if c.Variables == nil {
		c.Variables = func(string) Variable { return Variable{} }
	}
	return &opening{Config: c, provider: table[c.Provider], facts: model.ProviderNamed(c.Provider)}
}

// checkMix refuses the provider's tools next to those of the Expert where the API does not
// take both: the first request would fail.
func (o *opening) checkMix() error {
	if o.provider.checkMix == nil || !o.OwnTools || o.Expert == nil {
		return nil
	}
	return o.provider.checkMix(o.Provider, o.Model, o.Expert.ProviderTools)
}

func (o *opening) readFile(path string, limit int64) ([]byte, error) {
	if o.ReadFile != nil {
		return o.ReadFile(path, limit)
	}
	return userfile.Read(path, limit)
}

func (o *opening) reaches(address string) {
	if o.reached != nil {
		o.reached(address)
	}
}

func (o *opening) warn(format string, args ...any) {
	if o.Warn != nil {
		o.Warn(fmt.Sprintf(format, args...))
	}
}

// A ChoiceError is about settings that the user can choose otherwise, by their names in a
// Spec: provider, model, cassette or runtime.
type ChoiceError struct {
	Settings []string
	Err      error
}

func (e *ChoiceError) Error() string { return e.Err.Error() }

func (e *ChoiceError) Unwrap() error { return e.Err }

func (o *opening) errorf(format string, args ...any) error {
	return fmt.Errorf(o.Provider+": "+format, args...)
}
