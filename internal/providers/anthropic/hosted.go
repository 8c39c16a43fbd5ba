package anthropic

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/rawjson"
)

// hosted is what the provider itself runs: tools on its side, and skills in a container.
type hosted struct {
	tools     []hostedTool
	betas     []string
	container rawjson.Value
}

type hostedTool struct {
	Type           string   `json:"type"`
	Name           string   `json:"name"`
	MaxUses        int      `json:"max_uses,omitzero"`
	AllowedDomains []string `json:"allowed_domains,omitempty"`
}

func newHosted(cfg *wire.Config) (h hosted, err error) {
	options := cmp.Or(cfg.ToolOptions, &expert.ProviderToolOptions{})
	for _, name := range cfg.Tools {
		switch name {
		case "webSearch":
			o := cmp.Or(options.WebSearch, &expert.WebSearchOptions{})
			h.add(hostedTool{Type: "web_search_20250305", Name: "web_search", MaxUses: o.MaxUses, AllowedDomains: o.AllowedDomains})
		case "webFetch":
			o := cmp.Or(options.WebFetch, &expert.WebFetchOptions{})
			h.add(hostedTool{Type: "web_fetch_20250910", Name: "web_fetch", MaxUses: o.MaxUses}, "web-fetch-2025-09-10")
		case "codeExecution":
			if len(cfg.Skills) == 0 { // else the one that they need is added with them
				h.add(hostedTool{Type: "code_execution_20250522", Name: "code_execution"}, "code-execution-2025-05-22")
			}
		}
	}
	if len(cfg.Skills) == 0 {
		return h, nil
	}
	h.add(hostedTool{Type: "code_execution_20250825", Name: "code_execution"}, "code-execution-2025-08-25", "skills-2025-10-02", "files-api-2025-04-14")
	h.container, err = container(cfg.Skills)
	return h, err
}

// add takes a tool in once, however often it is named.
func (h *hosted) add(tool hostedTool, betas ...string) {
	if !h.has(tool.Name) {
		h.tools, h.betas = append(h.tools, tool), append(h.betas, betas...)
	}
}

func (h *hosted) has(name string) bool {
	return slices.ContainsFunc(h.tools, func(t hostedTool) bool { return t.Name == name })
}

func container(skills []expert.ProviderSkill) (rawjson.Value, error) {
	type skill struct {
		Type    string `json:"type"`
		SkillID string `json:"skill_id"`
		Version string `json:"version"`
	}
	var c struct {
		Skills []skill `json:"skills"`
	}
	for _, s := range skills {
		switch {
		case s.Type != "builtin":
			return nil, fmt.Errorf("anthropic: provider skill %q is custom, and the API takes no definitions; make it a skill of the Expert", s.Name)
		case !slices.Contains([]string{"pdf", "docx", "pptx", "xlsx"}, s.SkillID):
			return nil, fmt.Errorf("anthropic: there is no provider skill %q; there are pdf, docx, pptx and xlsx", s.SkillID)
		}
		c.Skills = append(c.Skills, skill{"anthropic", s.SkillID, "latest"})
	}
	return marshal(c), nil
}

// A sandbox is the container in which the provider runs code. A request that does not name
// it gets another, in which none of the files is that were made before.
type sandbox struct {
	Type      string    `json:"type"`
	ID        string    `json:"id"`
	ExpiresAt time.Time `json:"expires_at"`
}

const typeSandbox = "container"

// sandboxOf reads what a stream says of a container, or a part that keeps it.
func sandboxOf(raw rawjson.Value) *sandbox {
	var s sandbox
	if len(raw) == 0 || wire.Decode(raw, &s) != nil || s.ID == "" {
		return nil
	}
	return &s
}

// part keeps the container with the answer that used it.
func (s *sandbox) part() event.Part {
	return event.Part{Type: event.ProviderPart, ToolName: typeSandbox, ProviderData: marshal(sandbox{typeSandbox, s.ID, s.ExpiresAt})}
}

// container is the member of a request: the skills that are wanted, and the container of
// the last answer while it is there.
func (m *Model) container(talk []*encoded) rawjson.Value {
	if !m.hosted.has("code_execution") || m.cfg.Extra.Has("container") {
		return nil
	}
	skills := m.hosted.container
	var last *sandbox
	for _, e := range talk {
		if e.sandbox != nil {
			last = e.sandbox
		}
	}
	switch {
	case last == nil || time.Until(last.ExpiresAt) < time.Minute:
		return skills
	case skills == nil:
		return wire.Quote(last.ID)
	}
	return append([]byte(`{"id":`+string(wire.Quote(last.ID))+`,`), skills[1:]...)
}
