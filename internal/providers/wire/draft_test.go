package wire_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
)

// Parts are in the order in which they began, however their words arrive.
func TestDraft(t *testing.T) {
	var d wire.Draft
	thought := d.Open(event.ThinkingPart)
	first, second := d.Open(event.ToolCallPart), d.Open(event.ToolCallPart)
	d.Open(event.TextPart) // nothing is ever written to it
	d.Open(event.ThinkingPart)
	hidden := d.Open(event.ThinkingPart)
	hidden.ProviderData = rawjson.Value(`{"a":1}`)
	signed := d.Open(event.ThinkingPart)
	signed.Signature = "s"
	whole := d.Open(event.ToolCallPart)
	whole.Args = rawjson.Value(`{"whole":true}`)
	provider := d.Open(event.ProviderPart)
	provider.ToolName, provider.ProviderData = "search", rawjson.Value(`{}`)
	d.Last(event.TextPart).Write("One ")
	d.Last(event.TextPart).Write("two.")
	second.Write(`{"b"`)
	thought.Write("Hm")
	first.Write(`{"a":1}`)
	second.Write(`:2}`)
	thought.Write(".")
	first.ToolCallID, first.ToolName = "1", "x"
	want := []event.Part{
		{Type: event.ThinkingPart, Thinking: "Hm."},
		{Type: event.ToolCallPart, ToolCallID: "1", ToolName: "x", Args: rawjson.Value(`{"a":1}`)},
		{Type: event.ToolCallPart, Args: rawjson.Value(`{"b":2}`)},
		{Type: event.ThinkingPart, ProviderData: rawjson.Value(`{"a":1}`)},
		{Type: event.ThinkingPart, Signature: "s"},
		{Type: event.ToolCallPart, Args: rawjson.Value(`{"whole":true}`)},
		{Type: event.ProviderPart, ToolName: "search", ProviderData: rawjson.Value(`{}`)},
		{Type: event.TextPart, Text: "One two."},
	}
	if diff := cmp.Diff(want, d.Parts()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if thought.Len() != 3 {
		t.Errorf("%d bytes", thought.Len())
	}
	if (&wire.Draft{}).Parts() != nil {
		t.Error("nothing has parts")
	}
}

// A call becomes pieces and an answer, or pieces and an error; one without a listener
// ends without either.
func TestGenerate(t *testing.T) {
	answer := &model.Answer{Reason: "done"}
	broken := errors.New("broken")
	for name, tt := range map[string]struct {
		err    error
		listen int // for so many values
		want   []string
	}{
		"an answer": {nil, 9, []string{"a", "b", "answer done"}},
		"an error":  {broken, 9, []string{"a", "b", "error broken"}},
		"nobody":    {nil, 1, []string{"a"}},
	} {
		var got []string
		unheard := false
		for chunk, err := range wire.Generate(func(tell wire.Tell) (*model.Answer, error) {
			for _, text := range []string{"a", "", "b"} {
				if err := tell(model.Chunk{Text: text}); err != nil {
					unheard = errors.Is(err, wire.ErrUnheard)
					return nil, err
				}
			}
			return answer, tt.err
		}) {
			switch {
			case err != nil:
				got = append(got, "error "+err.Error())
			case chunk.Answer != nil:
				got = append(got, "answer "+chunk.Answer.Reason)
			default:
				got = append(got, chunk.Text)
			}
			if len(got) == tt.listen {
				break
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || unheard != (name == "nobody") {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// What was counted is on the error, unless there is none or it was not reported.
func TestPaid(t *testing.T) {
	used := event.Usage{InputTokens: 1, TotalTokens: 1}
	if err := wire.Paid(errors.New("x"), used); model.AsError(err).Usage.TotalTokens != 1 {
		t.Error(err)
	}
	if err := wire.Paid(nil, used); err != nil {
		t.Error(err)
	}
	if err := wire.Paid(wire.ErrUnheard, used); !errors.Is(err, wire.ErrUnheard) || model.AsError(err).Usage.TotalTokens != 0 {
		t.Error(err)
	}
}
