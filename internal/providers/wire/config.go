package wire

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/model"
)

// A Config is what every wire is told: which model is asked, and how it is reached. The
// configuration of a wire has it inside, beside keys and what else is its own.
type Config struct {
	// Client holds the address, further headers, the HTTP client and limits. What it does
	// not say gets a default of the wire.
	Client Client

	Provider string // its name in perstack.toml: one wire may serve several
	Model    string
	Author   string      // who the answers are by; <Provider>/<Model> if empty
	Known    model.Known // of the model; zero if nothing is

	// KeyVariable is the variable that the key came from, of several that it may come from,
	// for messages. It may be empty.
	KeyVariable string

	// MaxTokens bounds an answer, thinking included, because the user says so; 0 if not.
	MaxTokens int

	// What the provider itself runs, as the Expert's definition names it.
	Tools       []string
	ToolOptions *expert.ProviderToolOptions
	Skills      []expert.ProviderSkill

	// Extra is added to every request.
	Extra Extra

	// Fetch downloads what users give by its address, where the provider does not; nil if
	// nobody does, and the model is told.
	Fetch *Fetcher

	// Reaches is told the address that the wire will speak to. It may be nil.
	Reaches func(address string)
}

// Begin checks what every wire checks first, and fills in what follows from the rest.
func (c *Config) Begin(baseURL string) error {
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
		return fmt.Errorf("%s: no model is named; use --model or set model in perstack.toml", c.Provider)
	case c.MaxTokens < 0:
		return fmt.Errorf("%s: the limit of %d tokens is negative", c.Provider, c.MaxTokens)
	case c.Client.HTTP == nil:
		return errors.New(c.Provider + ": no HTTP client was handed in; wire.NewHTTPClient makes one")
	}
	if err := c.Client.Check(); err != nil {
		return err
	}
	if c.Reaches != nil {
		c.Reaches(c.Client.BaseURL)
	}
	return nil
}

// CheckKey says what is wrong with a key. name is the variable it comes from.
func (c *Config) CheckKey(name, key string) error {
	switch {
	case key == "":
		return fmt.Errorf("%s: %s is not set; set it in the environment or in .env", c.Provider, name)
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		return fmt.Errorf("%s: the API key has a character that no key has; check %s for spaces and line ends", c.Provider, name)
	}
	return nil
}

// CheckTools refuses tools that the provider does not run itself.
func (c *Config) CheckTools(known ...string) error {
	for _, name := range c.Tools {
		if !slices.Contains(known, name) {
			return fmt.Errorf("%s: there is no provider tool %q; %s", c.Provider, name, thereAre(known))
		}
	}
	return nil
}

func thereAre(known []string) string {
	if len(known) == 0 {
		return "this provider runs none itself"
	}
	return "there are " + strings.Join(known, ", ")
}
