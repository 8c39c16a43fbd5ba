package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/model"
)

// A Config is what every wire needs to know: which model to use, and how to reach it. The
// configuration of a wire embeds it, next to keys and whatever else is its own.
type Config struct {
	// Client holds the address, further headers, the HTTP client and limits. What it does
	// not say gets a default of the wire.
	Client Client

	Provider string // its name in perstack.toml: one wire may serve several providers
	Model    string
	Author   string      // recorded as the author of answers; <Provider>/<Model> if empty
	Known    model.Known // of the model; zero if nothing is known

	// KeyVariable is the variable that the key came from, for messages. It may be empty.
	KeyVariable string

	// MaxTokens is the user's limit for an answer, thinking included; 0 if there is none.
	MaxTokens int

	// What the provider itself runs, as the Expert's definition names it.
	Tools       []string
	ToolOptions *expert.ProviderToolOptions
	Skills      []expert.ProviderSkill

	// Extra is added to every request.
	Extra Extra

	// Fetch downloads what users give by its address, if the provider does not do so. If it
	// is nil, nothing is downloaded, and the model is told. See [Fetcher.Fetch].
	Fetch func(ctx context.Context, address string) (Medium, error)

	// Reaches is called with the address that requests go to. It may be nil.
	Reaches func(address string)
}

// Begin checks what every wire checks first, and fills in defaults: the provider's name and
// its address. reserved are the members of a request that extraBody must not set.
func (c *Config) Begin(provider, baseURL string, reserved ...string) error {
	c.Provider = cmp.Or(c.Provider, provider)
	c.Author = cmp.Or(c.Author, c.Provider+"/"+c.Model)
	c.Client.Provider = c.Provider
	c.Client.BaseURL = cmp.Or(c.Client.BaseURL, baseURL)
	if c.KeyVariable != "" && c.Client.Hints == nil {
		c.Client.Hints = map[int]string{
			http.StatusUnauthorized: "check " + c.KeyVariable,
			http.StatusForbidden:    "check " + c.KeyVariable + ", and what the account may do",
		}
	}
	switch {
	case c.Model == "":
		return fmt.Errorf("%s: no model is named; set model in perstack.toml", c.Provider)
	case c.MaxTokens < 0:
		return fmt.Errorf("%s: the limit of %d tokens is negative", c.Provider, c.MaxTokens)
	case c.Client.HTTP == nil:
		return errors.New(c.Provider + ": there is no HTTP client; wire.NewHTTPClient makes one")
	}
	if err := c.Client.Check(); err != nil {
		return err
	}
	if err := c.checkHosted(); err != nil {
		return err
	}
	if err := c.Extra.Check(c.Provider, reserved...); err != nil {
		return err
	}
	if c.Reaches != nil {
		c.Reaches(c.Client.BaseURL)
	}
	return nil
}

// checkHosted refuses tools and skills that the provider does not run.
func (c *Config) checkHosted() error {
	facts := model.ProviderNamed(c.Provider)
	for _, name := range c.Tools {
		switch {
		case len(facts.Tools) == 0:
			return fmt.Errorf("%s: there is no provider tool %q; this provider runs none itself", c.Provider, name)
		case !slices.Contains(facts.Tools, name):
			return fmt.Errorf("%s: there is no provider tool %q; there are %s", c.Provider, name, strings.Join(facts.Tools, ", "))
		case facts.ToolHint != "":
			return fmt.Errorf("%s: the provider tool %q cannot be used: %s", c.Provider, name, facts.ToolHint)
		}
	}
	if len(c.Skills) > 0 && !facts.Skills {
		return fmt.Errorf("%s: this provider runs no skills itself; remove providerSkills, or make them skills of the Expert", c.Provider)
	}
	return nil
}

// CheckKey refuses a key that is missing, or that cannot be one.
func (c *Config) CheckKey(key string) error {
	name := c.KeyVariable
	if all := model.KeyEnv(c.Provider); name == "" && len(all) > 0 {
		name = all[0]
	}
	return c.CheckSecret(name, key)
}

// CheckSecret is [Config.CheckKey] for one of several secrets, by the variable that it comes
// from.
func (c *Config) CheckSecret(name, value string) error {
	switch {
	case value == "":
		return fmt.Errorf("%s: %s is not set; set it in the environment or in .env", c.Provider, name)
	case strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		return fmt.Errorf("%s: the API key has a character that no key has; check %s for spaces and line ends", c.Provider, name)
	}
	return nil
}

// Limit returns how many tokens an answer may have: the smaller of what the job has left and
// what the user allows; 0 if there is no limit.
func (c *Config) Limit(req *model.Request) int { return Least(req.MaxTokens, c.MaxTokens) }

// Least is the smaller of two limits, of which 0 is none.
func Least(a, b int) int {
	if a > 0 && b > 0 {
		return min(a, b)
	}
	return max(a, b, 0)
}
