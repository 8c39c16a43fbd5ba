package chat

import (
	"cmp"
	"net/url"
	"strings"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/wire"
)

// A Dialect is a service that speaks Chat Completions: a row with everything in which it
// differs from the others.
type Dialect struct {
	provider string // the usual name
	baseURL  string // "" if there is no usual one
	noURL    string // what to set then
	path     func(*Config) string

	keyHeader, keyPrefix string // the header with the key, and what it has before the key

	limit          string // the member that limits an answer
	maxDescription int    // characters in the description of a tool; a longer one is refused. 0: no limit
	strict         bool   // tools must say that their schema is not strict

	keyless    bool // there may be no key
	bareText   bool // a request for text alone lists no tools: some servers ignore tool_choice
	openAI     bool // the models are OpenAI's: they have a developer, and words for effort
	thinking   bool // the member thinking switches thinking on and off
	thoughts   bool // thoughts go back to the model that had them
	mergeUsers bool // some models refuse two messages of the user in a row
	fewImages  bool // images are sent only to models that are known to take them
	cutsInput  bool // some servers cut a conversation that is too long, without an error

	media wire.MediaRules
}

// The dialects.
var (
	Azure = &Dialect{
		provider: "azure-openai", noURL: "set resourceName or baseUrl in [provider.setting], or AZURE_RESOURCE_NAME",
		path:      azurePath,
		keyHeader: "Api-Key",
		limit:     "max_completion_tokens", maxDescription: 1024, strict: true,
		openAI: true,
		media: wire.MediaRules{
			Types: wire.TypesImages + " " + wire.TypePDF, Named: "png, jpeg, gif, webp, pdf and text",
			Fetches: fetches, MaxImage: maxImage, MaxFile: maxFile, MaxMedia: maxMedia,
		},
	}
	DeepSeek = &Dialect{
		provider: "deepseek", baseURL: "https://api.deepseek.com",
		path:      func(*Config) string { return "/chat/completions" },
		keyHeader: "Authorization", keyPrefix: "Bearer ",
		limit:    "max_tokens",
		thinking: true, thoughts: true, mergeUsers: true, fewImages: true,
		media: wire.MediaRules{Types: wire.TypesImages, Named: "images and text only", Fetches: fetches, MaxImage: maxImage, MaxFile: maxFile, MaxMedia: maxMedia},
	}
	// Compatible is what vLLM, LM Studio, OpenRouter, Groq, Mistral and many others have in
	// common: what only some of them take is not sent.
	Compatible = &Dialect{
		provider: "openai-compatible", noURL: "set baseUrl in [provider.setting] or OPENAI_COMPATIBLE_BASE_URL, like http://127.0.0.1:8000/v1",
		path:      func(*Config) string { return "/chat/completions" },
		keyHeader: "Authorization", keyPrefix: "Bearer ", keyless: true,
		limit: "max_tokens", bareText: true, mergeUsers: true, cutsInput: true,
		media: wire.MediaRules{Types: wire.TypesImages, Named: "png, jpeg, gif, webp and text", MaxImage: maxImage, MaxFile: maxFile, MaxMedia: maxMedia},
	}
)

// authorize puts the key into the headers of every request.
func (d *Dialect) authorize(c *Config) error {
	if d.keyless && c.Key == "" {
		c.Client.SetHeaders(nil)
		return nil
	}
	c.Client.SetHeaders(map[string]string{d.keyHeader: d.keyPrefix + c.Key}, c.Key)
	return c.CheckKey(c.Key)
}

// azurePath is the path below a resource. The model is part of it if the user says so.
func azurePath(c *Config) string {
	path := "/v1/chat/completions"
	switch {
	case c.Deployments:
		path = "/deployments/" + url.PathEscape(c.Model) + "/chat/completions"
	case strings.HasSuffix(strings.TrimSuffix(c.Client.BaseURL, "/"), "/v1"): // as the portal shows it
		path = "/chat/completions"
	}
	return path + "?api-version=" + url.QueryEscape(cmp.Or(c.APIVersion, "v1"))
}

// fetches reports whether the service fetches a part itself: images. The rest is downloaded
// here.
func fetches(p *event.Part) bool { return p.Type == event.ImageURLPart }
