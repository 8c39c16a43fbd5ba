package engine

import (
	"crypto/sha256"
	"hash"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
)

// maxRepeated is how often in a row an Expert may make the same call and get the same
// result. From there on it goes in a circle, and pays for each round.
const maxRepeated = 5

// A repetition is the newest call of a Run and its result, and how often both came in a
// row. The zero value stands before the first call.
type repetition struct {
	last  [sha256.Size]byte
	count int
}

// after returns r after the calls of a step, in call order. The same call several times in
// one turn counts once: the model had not seen the first result yet.
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

// callDigest stands for what was called with what, and what came of it.
func callDigest(c Call) (digest [sha256.Size]byte) {
	h := sha256.New()
	put(h, c.SkillName, c.ToolName, string(c.Args), strconv.FormatBool(c.Result.IsError))
	parts := c.Result.Result
	if c.SkillName == event.BaseSkill {
		parts = steady(parts)
	}
	putParts(h, parts)
	return [sha256.Size]byte(h.Sum(nil))
}

// steady returns results of the base tools without what is another each time: how long a
// command took, how many thoughts there were.
func steady(parts []event.Part) []event.Part {
	parts = slices.Clone(parts)
	for i, p := range parts {
		var members map[string]jsontext.Value
		if json.Unmarshal([]byte(p.Text), &members) != nil {
			continue
		}
		delete(members, "durationMs")
		delete(members, "thoughtHistoryLength")
		parts[i].Text = string(mustEncode(members))
	}
	return parts
}

// putParts leaves out the ids, which are another each time.
func putParts(h hash.Hash, parts []event.Part) {
	for _, p := range parts {
		put(h, string(p.Type), p.Text, p.URL, p.MIMEType, p.EncodedData, p.Data)
		putParts(h, p.Contents)
	}
}

// put writes texts so that two lists of them cannot look alike. They go through a small
// buffer: a result may be large, and a hash takes no strings.
func put(h hash.Hash, texts ...string) {
	var buf [512]byte
	for _, t := range texts {
		n := len(append(strconv.AppendInt(buf[:0], int64(len(t)), 10), ':'))
		for n > 0 {
			k := copy(buf[n:], t)
			h.Write(buf[:n+k])
			t = t[k:]
			n = copy(buf[:], t)
			t = t[n:]
		}
	}
}
