package anthropic

import (
	"strings"
	"testing"

	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
)

// The Runs of one Expert share the text of their tools, whether or not they may call them.
func TestToolsAreWrittenOnce(t *testing.T) {
	m := &Model{}
	written := func(textOnly bool, tools ...model.Tool) (list []byte, all string) {
		b := &body{}
		m.tools(b, &model.Request{Tools: tools, TextOnly: textOnly}, nil)
		for _, piece := range b.Pieces {
			all += string(piece)
		}
		if len(b.Pieces) > 0 {
			list = b.Pieces[0]
		}
		return list, all
	}
	tool := model.Tool{Name: "a", Description: "b", InputSchema: rawjson.Value(`{"type":"object"}`)}
	first, may := written(false, tool)
	again, mayNot := written(true, tool)
	if &again[0] != &first[0] {
		t.Error("the same list was written twice")
	}
	if !strings.HasSuffix(may, `"tool_choice":{"type":"auto"}`) || !strings.HasSuffix(mayNot, `"tool_choice":{"type":"none"}`) {
		t.Errorf("%s\n%s", may, mayNot)
	}
	for _, textOnly := range []bool{false, true} {
		if _, all := written(textOnly); all != "" {
			t.Errorf("a request without tools has %s", all)
		}
	}
}
