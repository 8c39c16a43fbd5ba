package providers

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// refuseMix refuses tools of Google beside those of an Expert where the API does not take
// both: the first request would fail. The wire refuses it too, for whoever does not come
// through here.
func (o *opening) refuseMix() error {
	if !o.OwnTools || o.Expert == nil || len(o.Expert.ProviderTools) == 0 {
		return nil
	}
	hint := "take a Gemini 3 model, or remove providerTools"
	switch {
	case o.Provider == "google-vertex":
		hint = "remove providerTools, or take the provider google with a Gemini 3 model"
	case o.Provider != "google" || mixes(o.Model):
		return nil
	}
	tools := slices.Compact(slices.Clone(o.Expert.ProviderTools))
	return o.errorf("%s cannot use %s beside the tools of the Expert; %s", o.Model, strings.Join(tools, ", "), hint)
}

var geminiVersion = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^gemini-(\d+)`) })

// mixes reports whether a model of the Gemini API uses Google's tools beside others: from
// Gemini 3 on, which is what names with -latest have meant for long.
func mixes(model string) bool {
	name := strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	if version := geminiVersion().FindStringSubmatch(name); version != nil {
		major, _ := strconv.Atoi(version[1])
		return major >= 3
	}
	return strings.HasPrefix(name, "gemini-") && strings.HasSuffix(name, "-latest")
}
