// Package providers is the table of those who run models: it opens the model that a run
// was told to use, from settings and variables that are handed in.
//
// Opening asks nobody. A missing key or an address that cannot be right shows here,
// before anything is started. A provider that is not used costs nothing. Start reading
// at [Open]; env.go says whose word counts when variables disagree, and parcel.go takes a
// model to another place.
package providers

import (
	"fmt"
	"net/url"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/userfile"
	"github.com/perstack-go/perstack/model"
)

// A Choice says which model a run uses.
type Choice struct {
	Provider string
	Model    string
	// Setting is [provider.setting] of perstack.toml if it stands with this provider,
	// else zero: used with another, it would send keys to the wrong host.
	Setting expert.Setting
	// Entry is what perstack.toml says of the model.
	Entry expert.ModelEntry
	// Config is the path of perstack.toml, for messages.
	Config string

	// Env looks up variables of the environment and the env files. It may be nil if there
	// are none.
	Env func(name string) string
	// EnvFile says which env file a variable comes from; "" for the environment. It may
	// be nil if there are no such files.
	EnvFile func(name string) string
	// Dir is the directory that relative paths in variables start from; "" means that of
	// the process.
	Dir string
	// ReadFile reads the files that variables and settings name, of at most limit bytes;
	// nil means [userfile.Read].
	ReadFile func(path string, limit int64) ([]byte, error)
	// Proxy is the only way out, if there is one: every request goes through it, those for
	// tokens and downloads too, and what is not https goes nowhere. It looks names up by
	// itself. No variable names another then.
	Proxy *url.URL

	// Expert says which tools and skills of the provider itself are used.
	Expert *expert.Expert
	// OwnTools says that the Expert has tools of its own beside those, as every Expert of
	// the runtime has, if only the one that ends its work.
	OwnTools bool
	// Reasoning is how much the user wants the model to think; empty if nobody said.
	Reasoning expert.ReasoningBudget

	// Warn is told what is worth a line to the user, in one line without an end. It may
	// be nil.
	Warn func(message string)
	// Hide is told the secrets that were found in files that variables name. It may be
	// nil.
	Hide func(name, value string)

	spoken func(address string) // is told whom the model will speak to
	sealed bool                 // nothing of this process counts: the choice comes out of a parcel
	gcloud string               // where gcloud's file is, if that was found elsewhere
}

// Open returns the model. An error is about the configuration.
func Open(c Choice) (model.Model, error) {
	o := &opening{Choice: c}
	if o.Env == nil {
		o.Env = func(string) string { return "" }
	}
	if err := model.CheckProvider(o.Provider); err != nil {
		return nil, err
	}
	if err := o.fit(); err != nil {
		return nil, err
	}
	if err := o.refuseMix(); err != nil {
		return nil, err
	}
	m, err := o.open()
	if err != nil {
		return nil, err
	}
	o.warnAboutModel()
	return m, nil
}

func (o *opening) open() (model.Model, error) {
	switch o.Provider {
	case "anthropic":
		return o.anthropic()
	case "google":
		return o.google()
	case "openai":
		return o.openai()
	case "ollama":
		return o.ollama()
	case "azure-openai":
		return o.azure()
	case "amazon-bedrock":
		return o.bedrock()
	case "google-vertex":
		return o.vertex()
	case "deepseek":
		return o.deepseek()
	case "replay":
		return o.replay()
	}
	return nil, o.errorf("perstack has no client for it")
}

// opened keeps a nil pointer out of an interface, where it would not be nil.
func opened[M model.Model](m M, err error) (model.Model, error) {
	if err != nil {
		return nil, err
	}
	return m, nil
}

// opening is a model in the course of being opened.
type opening struct {
	Choice
	dry bool // nobody will ask it: no file is read
}

// readFile reads a file that a variable or a setting names.
func (o *opening) readFile(path string, limit int64) ([]byte, error) {
	if o.ReadFile != nil {
		return o.ReadFile(path, limit)
	}
	return userfile.Read(path, limit)
}

// reaches says whom the model will speak to.
func (o *opening) reaches(address string) {
	if o.spoken != nil {
		o.spoken(address)
	}
}

func (o *opening) warn(format string, args ...any) {
	if o.Warn != nil {
		o.Warn(fmt.Sprintf(format, args...))
	}
}

// errorf is an error that names the provider.
func (o *opening) errorf(format string, args ...any) error {
	return fmt.Errorf(o.Provider+": "+format, args...)
}
