package engine

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/rawjson"
)

// maxRepeated is how often in a row an Expert can make the same call and get the same result
// before it is stopped.
const maxRepeated = 5

// A repetition is the newest call of a Run with its result, and how often both came in a row.
// The zero value is for a Run without calls.
type repetition struct {
	last  [sha256.Size]byte
	count int
}

// after returns r after the calls of a step, in call order. The same call several times in
// one turn counts once, because the model had not seen the first result yet.
func (r repetition) after(calls []Call) repetition {
	inStep := false
	for _, c := range calls {
		if c.Result == nil {
			continue
		}
		digest := callDigest(c)
		switch {
		case r.count == 0 || digest != r.last:
			r = repetition{digest, 1}
		case !inStep:
			r.count++
		}
		inStep = true
	}
	return r
}

// callDigest returns a digest of a call, its arguments and its result.
func callDigest(c Call) (digest [sha256.Size]byte) {
	h := sha256.New()
	hashTexts(h, c.SkillName, c.ToolName, string(c.Args), strconv.FormatBool(c.Result.IsError))
	parts := c.Result.Result
	if c.SkillName == event.BaseSkill {
		parts = withoutVarying(parts)
	}
	hashParts(h, parts)
	return [sha256.Size]byte(h.Sum(nil))
}

// withoutVarying returns results of the base tools without the members that differ each time:
// how long a command took, how many thoughts there were.
func withoutVarying(parts []event.Part) []event.Part {
	parts = slices.Clone(parts)
	for i, p := range parts {
		var members map[string]rawjson.Value
		if json.Unmarshal([]byte(p.Text), &members) != nil {
			continue
		}
		delete(members, "durationMs")
		delete(members, "thoughtHistoryLength")
		parts[i].Text = string(mustEncode(members))
	}
	return parts
}

// hashParts leaves out the ids, which differ each time.
func hashParts(h hash.Hash, parts []event.Part) {
	for _, p := range parts {
		hashTexts(h, string(p.Type), p.Text, p.URL, p.MIMEType, p.EncodedData, p.Data)
		hashParts(h, p.Contents)
	}
}

// hashTexts writes texts with their lengths, so that two different lists never give the same
// bytes.
func hashTexts(h hash.Hash, texts ...string) {
	for _, t := range texts {
		fmt.Fprintf(h, "%d:%s", len(t), t)
	}
}
