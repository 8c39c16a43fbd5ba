package responses

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
)

// maxName is how long a name, or the id of a call, may be.
const maxName = 64

type hosted struct {
	tools    []hostedTool
	text     []byte   // the tools as they are sent
	include  []string // what of their work is wanted back
	maxCalls int
}

type hostedTool struct {
	Type           string     `json:"type"`
	Filters        *filters   `json:"filters,omitzero"`
	VectorStoreIDs []string   `json:"vector_store_ids,omitempty"`
	MaxNumResults  int        `json:"max_num_results,omitzero"`
	Container      *container `json:"container,omitzero"`
}

type filters struct {
	AllowedDomains []string `json:"allowed_domains"`
}

type container struct {
	Type string `json:"type"`
}

const (
	typeSearchTool = "web_search"
	typeFileTool   = "file_search"
	typeCodeTool   = "code_interpreter"
	typeImageTool  = "image_generation"
)

// maxImageEvent bounds an event of an answer that may have images inside, all of which
// the last one repeats.
const maxImageEvent = 32 << 20

func newHosted(cfg *wire.Config) (h hosted, err error) {
	options := cmp.Or(cfg.ToolOptions, &expert.ProviderToolOptions{})
	for i, name := range cfg.Tools {
		if slices.Contains(cfg.Tools[:i], name) {
			continue
		}
		switch name {
		case "webSearch":
			o := cmp.Or(options.WebSearch, &expert.WebSearchOptions{})
			tool := hostedTool{Type: typeSearchTool}
			if len(o.AllowedDomains) > 0 {
				tool.Filters = &filters{o.AllowedDomains}
			}
			h.tools, h.maxCalls = append(h.tools, tool), o.MaxUses
			h.include = append(h.include, "web_search_call.action.sources")
		case "fileSearch":
			o := options.FileSearch
			if o == nil || len(o.VectorStoreIDs) == 0 {
				return h, fmt.Errorf("%s: fileSearch has no store to search in; set vectorStoreIds in providerToolOptions.fileSearch", cfg.Provider)
			}
			h.tools = append(h.tools, hostedTool{Type: typeFileTool, VectorStoreIDs: o.VectorStoreIDs, MaxNumResults: o.MaxNumResults})
		case "codeInterpreter":
			h.tools = append(h.tools, hostedTool{Type: typeCodeTool, Container: &container{"auto"}})
			h.include = append(h.include, "code_interpreter_call.outputs")
		case "imageGeneration":
			h.tools = append(h.tools, hostedTool{Type: typeImageTool})
		}
	}
	if len(h.tools) > 1 {
		h.maxCalls = 0 // the API has one limit for all, and none of the others was limited
	}
	list := marshal(h.tools)
	h.text = list[1 : len(list)-1] // ours stand before them
	return h, nil
}

func (h *hosted) has(kind string) bool {
	return slices.ContainsFunc(h.tools, func(t hostedTool) bool { return t.Type == kind })
}

// offersHosted is false for an answer in words.
func (m *Model) offersHosted(req *model.Request) bool {
	return !req.TextOnly && len(m.hosted.tools) > 0
}

// addTools writes the part of a request that is about tools. The list of ours is shared
// between requests.
func (m *Model) addTools(b *wire.Body, req *model.Request) {
	hosted := m.offersHosted(req)
	if len(req.Tools) == 0 && !hosted {
		return
	}
	b.Text(`,"tools":[`)
	b.Add(m.lists.Get(req.Tools, toolForm.Write))
	if hosted {
		if len(req.Tools) > 0 {
			b.Text(",")
		}
		b.Add(m.hosted.text)
	}
	choice := "auto"
	if req.TextOnly {
		choice = "none"
	}
	b.Text(`],"tool_choice":"` + choice + `"`)
}

var toolForm = wire.ToolForm{Open: `{"type":"function",`, Schema: `,"parameters":`, Close: `,"strict":false}`, Fit: wire.Schema, MaxName: maxName}
