package gemini

import (
	"fmt"
	"maps"
	"strconv"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
)

// settings are what a user says about every request. The members of a generationConfig of
// the user's own stand beside ours: temperatures are asked for there.
type settings struct {
	extra      wire.Extra
	generation wire.Extra
	maxTokens  int
	safety     rawjson.Value
}

// reserved are the members that perstack writes. The API takes each name in two spellings.
var reserved = []string{
	"contents", "tools", "systemInstruction", "system_instruction", "toolConfig", "tool_config", "generation_config", "safety_settings",
}

func newSettings(provider string, extra wire.Extra, safety []expert.SafetySetting) (s settings, err error) {
	s.extra = maps.Clone(extra)
	delete(s.extra, "generationConfig")
	if own, ok := extra["generationConfig"]; ok {
		if err := json.Unmarshal(own, &s.generation); err != nil || s.generation == nil {
			return s, fmt.Errorf("%s: generationConfig in extraBody is not an object", provider)
		}
		if err := s.generation.Check(provider, "max_output_tokens", "thinking_config", "candidateCount", "candidate_count"); err != nil {
			return s, err
		}
	}
	if limit, ok := s.generation["maxOutputTokens"]; ok {
		if err := json.Unmarshal(limit, &s.maxTokens); err != nil || s.maxTokens <= 0 {
			return s, fmt.Errorf("%s: maxOutputTokens in extraBody is not a number above 0", provider)
		}
		delete(s.generation, "maxOutputTokens") // it is ours from here on: the budget of a job may lower it
	}
	if len(safety) > 0 && !extra.Has("safetySettings") {
		type setting struct {
			Category  string `json:"category"`
			Threshold string `json:"threshold"`
		}
		var list []setting
		for _, one := range safety {
			list = append(list, setting(one))
		}
		s.safety, err = wire.Marshal(list)
	}
	return s, err
}

// writeGeneration writes the generationConfig of a request, if it needs one.
func (m *Model) writeGeneration(b *wire.Body, req *model.Request) {
	own := wire.Extra{}
	limit := m.limit(req)
	if limit > 0 {
		own["maxOutputTokens"] = rawjson.Value(strconv.Itoa(limit))
	}
	if !m.settings.generation.Has("thinkingConfig") {
		if thinking := m.traits.thinking(req.Reasoning, limit); thinking != nil {
			own["thinkingConfig"] = thinking
		}
	}
	if len(own)+len(m.settings.generation) > 0 {
		b.Text(`,"generationConfig":` + m.settings.generation.Object(own))
	}
}

// limit is how many tokens the answer may have; 0 if there is no limit.
func (m *Model) limit(req *model.Request) (limit int) {
	for _, n := range []int{req.MaxTokens, m.MaxTokens, m.settings.maxTokens} {
		if n > 0 && (limit == 0 || n < limit) {
			limit = n
		}
	}
	if most := m.Known.MaxOutputTokens; limit > 0 && most > 0 {
		limit = min(limit, most)
	}
	return limit
}
