package gemini

import (
	"fmt"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
)

// maxName is how long the name of a function may be, on the older models too.
const maxName = 64

// hostedTools is what Google itself runs: elements of tools, joined by commas.
func (m *Model) hostedTools() (string, error) {
	var elements []string
	for _, name := range m.Tools {
		element := `{"` + name + `":{}}`
		if name == "fileSearch" {
			options := m.ToolOptions
			if options == nil || options.FileSearch == nil || len(options.FileSearch.VectorStoreIDs) == 0 {
				return "", fmt.Errorf("%s: fileSearch does not know where to search; set providerToolOptions.fileSearch.vectorStoreIds", m.Provider)
			}
			element = fileSearch(options.FileSearch.VectorStoreIDs, options.FileSearch.MaxNumResults)
		}
		if !slices.Contains(elements, element) {
			elements = append(elements, element)
		}
	}
	return strings.Join(elements, ","), nil
}

func fileSearch(stores []string, most int) string {
	type search struct {
		Stores []string `json:"fileSearchStoreNames"`
		TopK   int      `json:"topK,omitzero"`
	}
	return string(encode(map[string]search{"fileSearch": {stores, most}}))
}

// refuseMix keeps a request from the API that it would refuse, or answer without looking
// at the Expert's tools: only from Gemini 3 on, and not on Vertex AI, are both used at once.
func (m *Model) refuseMix(req *model.Request) error {
	if len(req.Tools) == 0 || req.TextOnly {
		return nil
	}
	if err := CheckMix(m.Provider, m.Model, m.Tools); err != nil {
		return &model.Error{Name: "ConfigurationError", Message: err.Error()}
	}
	return nil
}

// CheckMix refuses Google's tools next to those of an Expert where the API does not take
// both. Opening a model calls it too, because the first request would fail.
func CheckMix(provider, name string, tools []string) error {
	hint := "use a Gemini 3 model, or remove providerTools"
	switch {
	case len(tools) == 0, provider != vertex && traitsOf(name, model.Known{}).third:
		return nil
	case provider == vertex:
		hint = "remove providerTools, or use the provider google with a Gemini 3 model"
	}
	return fmt.Errorf("%s: %s cannot use %s together with the tools of the Expert; %s",
		provider, name, strings.Join(slices.Compact(slices.Clone(tools)), ", "), hint)
}

// writeTools writes what the model may call. In a request for text alone the list stays,
// since the history mentions it and the provider's cache begins with it; a word says that
// nothing is to be called, and what Google runs is not offered.
func (m *Model) writeTools(b *wire.Body, req *model.Request) {
	offered := m.hosted
	if req.TextOnly {
		offered = ""
	}
	if len(req.Tools) == 0 && offered == "" {
		return
	}
	b.Text(`,"tools":[`)
	if len(req.Tools) > 0 {
		b.Text(`{"functionDeclarations":[`)
		b.Add(m.lists.Get(req.Tools, toolForm.Write))
		b.Text(`]}`)
		if offered != "" {
			b.Text(`,`)
		}
	}
	b.Text(offered + `]`)
	switch {
	case len(req.Tools) == 0:
	case req.TextOnly:
		b.Text(`,"toolConfig":{"functionCallingConfig":{"mode":"NONE"}}`)
	case offered != "": // how it calls is then the API's own choice
		b.Text(`,"toolConfig":{"includeServerSideToolInvocations":true}`)
	default:
		b.Text(`,"toolConfig":{"functionCallingConfig":{"mode":"AUTO"}}`)
	}
}

// toolForm is how a function is declared.
var toolForm = wire.ToolForm{Open: `{`, Schema: `,"parameters":`, Close: `}`, Fit: reduce, MaxName: maxName}
