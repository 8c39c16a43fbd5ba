package wire_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
)

// What takes two bytes on the wire takes hundreds in memory: values, parts and marks are
// counted before they are many.
func TestAnswersAreBounded(t *testing.T) {
	client := &wire.Client{Provider: "acme"}
	var many, heavy, late wire.Draft
	for range wire.MaxParts {
		many.Open(event.ToolCallPart)
	}
	if err := many.Check(client); err != nil {
		t.Errorf("%d parts: %v", wire.MaxParts, err)
	}
	many.Open(event.TextPart)
	for range 3 {
		heavy.Open(event.ThinkingPart).ProviderData = []byte(strings.Repeat("x", wire.MaxMarks/3+1))
	}
	late.Open(event.ThinkingPart)
	late.Open(event.TextPart)
	if err := late.Check(client); err != nil {
		t.Errorf("two parts: %v", err)
	}
	late.Open(event.ThinkingPart).Signature = strings.Repeat("x", wire.MaxMarks+1)
	for name, tt := range map[string]struct {
		draft *wire.Draft
		want  string
	}{
		"parts": {&many, "acme sent an answer of more than 10000 parts"},
		"marks": {&heavy, "bytes of marks"}, "the last mark": {&late, "bytes of marks"},
	} {
		e := asError(t, tt.draft.Check(client))
		if e.Name != "InvalidAnswer" || e.Retryable || !strings.Contains(e.Message, tt.want) {
			t.Errorf("%s: %+v", name, e)
		}
	}
	var anything any
	for text, want := range map[string]string{
		"[" + strings.Repeat("{},", 110_000) + "{}]": "more than 200000 values",
		"[" + strings.Repeat("1,", 250_000) + "1]":   "more than 200000 values",
		"[" + strings.Repeat("1,", 150_000) + "1]":   "",
		`["` + strings.Repeat(",[{", 300_000) + `"]`: "", // inside a text they are none
	} {
		err := wire.Decode([]byte(text), &anything)
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.20s…: %v", text, err)
		}
	}
}

// Names are looked up once, however many calls there are.
func TestNamesAreLookedUpOnce(t *testing.T) {
	var names wire.Names
	for i := range 200 {
		names.Tools = append(names.Tools, model.Tool{Name: fmt.Sprintf("odd name %d", i)})
	}
	names.Most = 64
	sent := wire.ToolName("odd name 7", 64)
	if n := testing.AllocsPerRun(100, func() {
		if names.Own(sent) != "odd name 7" {
			t.Error("another name came back")
		}
	}); n > 0 {
		t.Errorf("%.0f allocations for each call", n)
	}
}

// A key does not show in pieces or in other letters.
func TestKeysInOtherForms(t *testing.T) {
	const secret = "SK-Very-Secret-Key-That-Is-Long-Enough-To-Be-Cut-Off-Somewhere-In-The-Middle-Of-A-Long-Line-0123456789"
	e := (&wire.Client{Provider: "acme", Secrets: []string{secret}}).Malformed(fmt.Errorf("an answer of type %q", strings.ToLower(secret)))
	if strings.Contains(e.Message, "secret-key") {
		t.Error(e.Message)
	}
}
