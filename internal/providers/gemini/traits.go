package gemini

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
)

// traits are what differs between the models behind one API.
type traits struct {
	thinks  model.Reasoning
	efforts []string // from little to much, in lower case
	budget  budget

	// third is true from Gemini 3 on: such a model refuses calls in its history without a
	// signature, looks at media inside results, and uses Google's tools beside ours.
	third bool

	// noSystem is true for the models that know no system instruction.
	noSystem bool
}

// A budget is what a number of tokens for thinking has to keep to.
type budget struct {
	least, most int // 0: no limit
	off         int // what switches it off, or comes nearest
}

var generation = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^gemini-(\d+)(?:\.(\d+))?\b`) })

// traitsOf goes by what is known of a model, and else by its name. A name that says
// nothing is that of a tuned model, or of one that is not asked to think: an API that is
// asked for what its model cannot do refuses the whole request.
func traitsOf(name string, known model.Known) (t traits) {
	name = strings.ToLower(name[strings.LastIndexByte(name, '/')+1:])
	t.noSystem = strings.HasPrefix(name, "gemma-")
	major, minor := 0, 0
	switch version := generation().FindStringSubmatch(name); {
	case version != nil:
		major, _ = strconv.Atoi(version[1])
		minor, _ = strconv.Atoi(version[2])
	case strings.HasPrefix(name, "gemini-") && strings.HasSuffix(name, "-latest"):
		major, minor = 3, 1 // which is what these names have meant for long
	}
	t.third = major >= 3
	t.thinks = model.ReasoningNone
	switch {
	case strings.Contains(name, "-image"), strings.Contains(name, "-tts"), strings.Contains(name, "-live"):
	case major >= 3:
		t.thinks = model.ReasoningEffort
	case major == 2 && minor >= 5:
		t.thinks = model.ReasoningBudget
	}
	switch {
	case strings.Contains(name, "-flash-lite"):
		t.budget = budget{least: 512, most: 24_576}
	case strings.Contains(name, "-flash"):
		t.budget = budget{least: 1, most: 24_576}
	case strings.Contains(name, "-pro"):
		t.budget = budget{least: 128, most: 32_768, off: 128} // it always thinks
	}
	switch isPro := strings.Contains(name, "-pro"); {
	case len(known.Efforts) > 0:
		for _, word := range known.Efforts {
			t.efforts = append(t.efforts, strings.ToLower(word))
		}
	case isPro && major == 3 && minor == 0:
		t.efforts = []string{"low", "high"}
	case isPro:
		t.efforts = []string{"low", "medium", "high"}
	default:
		t.efforts = []string{"minimal", "low", "medium", "high"}
	}
	t.thinks = cmp.Or(known.Reasoning, t.thinks)
	return t
}

// minAnswer is what a thought leaves for the words after it.
const minAnswer = 256

// thinking is the thinkingConfig of a request whose answer has at most limit tokens (0: no
// limit), or nil.
func (t *traits) thinking(asked expert.ReasoningBudget, limit int) rawjson.Value {
	if asked == "" {
		return nil
	}
	off := asked.Off()
	switch t.thinks {
	case model.ReasoningEffort, model.ReasoningAdaptive:
		text := `{"thinkingLevel":"` + t.effort(asked) + `"`
		if !off { // the least it can is nothing to show
			text += `,"includeThoughts":true`
		}
		return rawjson.Value(text + "}")
	case model.ReasoningBudget:
		n := asked.Tokens()
		if b := t.budget; b.most > 0 {
			n = min(max(n, b.least), b.most)
		}
		if limit > 0 {
			n = min(n, limit-minAnswer)
		}
		if off || n < max(t.budget.least, 1) {
			return rawjson.Value(`{"thinkingBudget":` + strconv.Itoa(t.budget.off) + `}`)
		}
		return rawjson.Value(`{"thinkingBudget":` + strconv.Itoa(n) + `,"includeThoughts":true}`)
	case model.ReasoningSwitch:
		if off {
			return rawjson.Value(`{"thinkingBudget":0}`)
		}
		return rawjson.Value(`{"includeThoughts":true}`)
	}
	return nil
}

// effort is the model's word for a budget: the least that is not below it.
func (t *traits) effort(asked expert.ReasoningBudget) string {
	word := wire.EffortWord(asked)
	if asked.Tokens() <= expert.ReasoningMinimal.Tokens() {
		word = "minimal"
	}
	return strings.ToUpper(wire.HigherEffort(t.efforts, word))
}
