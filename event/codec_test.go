package event

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	gojson "github.com/go-json-experiment/json"
)

func marshal(v any) ([]byte, error)         { return gojson.Marshal(v, encoding) }
func unmarshal(data []byte, into any) error { return gojson.Unmarshal(data, into, decoding) }

const head = `"id":"e1","expertKey":"k","timestamp":1,"jobId":"j","runId":"r","stepNumber":1`

func TestUnmarshalIsStrict(t *testing.T) {
	message := func(part string) string {
		return `{"type":"startGeneration",` + head + `,"messages":[{"id":"m","type":"userMessage","contents":[` + part + `]}]}`
	}
	tests := []struct {
		name, in string
		want     string // part of the error
	}{
		{"duplicate member", `{"type":"startGeneration","type":"startGeneration",` + head + `}`, "duplicate"},
		{"duplicate member deep down", message(`{"id":"p","type":"textPart","text":"a","text":"b"}`), "duplicate"},
		{"duplicate in arguments", message(`{"id":"p","type":"toolCallPart","toolCallId":"c","toolName":"t","args":{"a":1,"a":2}}`), "duplicate"},
		{"duplicate in an unknown member", `{"type":"startGeneration",` + head + `,"x":{"a":1,"a":2}}`, "duplicate"},
		{"trailing data", `{"type":"startGeneration",` + head + `} {}`, "after"},
		{"two lines", `{"type":"startGeneration",` + head + "}\n1", "after"},
		{"bad UTF-8", `{"type":"streamReasoning",` + head + ",\"delta\":\"\xff\"}", "UTF-8"},
		{"lone surrogate", `{"type":"streamReasoning",` + head + `,"delta":"\ud800"}`, "surrogate"},
		{"unknown part type", message(`{"id":"p","type":"videoPart","text":"x"}`), `unknown type "videoPart"`},
		{"part type in wrong case", message(`{"id":"p","type":"TextPart","text":"x"}`), `unknown type "TextPart"`},
		{"part without a type", message(`{"id":"p","text":"x"}`), "unknown type"},
		{"null part", message(`null`), "unknown type"},
		{"null message", `{"type":"startGeneration",` + head + `,"messages":[null]}`, "null is not a message"},
		{"null in the place of the message", `{"type":"callTools",` + head + `,"newMessage":null,"toolCalls":[],"usage":{}}`, "null is not a message"},
		{"string for a number", `{"type":"startGeneration",` + strings.Replace(head, `"stepNumber":1`, `"stepNumber":"1"`, 1) + `}`, "stepNumber"},
		{"fraction for a count", `{"type":"startGeneration",` + strings.Replace(head, `"stepNumber":1`, `"stepNumber":1.5`, 1) + `}`, "stepNumber"},
		{"number too large", `{"type":"startGeneration",` + strings.Replace(head, `"timestamp":1`, `"timestamp":1e30`, 1) + `}`, "timestamp"},
		{"object for a list", `{"type":"startGeneration",` + head + `,"messages":{}}`, "messages"},
		{"number for a type", `{"type":1}`, "number"},
		{"array", `[]`, "array"},
		{"nothing", ``, "EOF"},
		{"cut off", `{"type":"startGeneration"`, "EOF"},
		{"type in wrong case", `{"type":"StartGeneration",` + head + `}`, `unknown event type "StartGeneration"`},
		{"member type in wrong case", `{"Type":"startGeneration",` + head + `}`, `unknown event type ""`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, err := Unmarshal([]byte(tt.in))
			if err == nil {
				t.Fatalf("decoded as %+v", e)
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %q, want something with %q", err, tt.want)
			}
		})
	}
}

// A member in the wrong case is an unknown member, not a spelling of the known one.
func TestMemberNamesAreCaseSensitive(t *testing.T) {
	in := []byte(`{"type":"streamReasoning",` + head + `,"Delta":"x"}`)
	e, err := Unmarshal(in)
	if err != nil {
		t.Fatal(err)
	}
	if b := e.Body.(StreamReasoning); b.Delta != "" || len(b.Unknown) != 1 || string(b.Unknown["Delta"]) != `"x"` {
		t.Errorf("got %+v", b)
	}
}

func TestUnmarshalRefusesDepth(t *testing.T) {
	deep := strings.Repeat("[", 20000) + strings.Repeat("]", 20000)
	if _, err := Unmarshal([]byte(`{"type":"startGeneration",` + head + `,"x":` + deep + `}`)); err == nil {
		t.Error("20000 levels were accepted")
	}
}

func TestOlderNames(t *testing.T) {
	tests := []struct{ in, want string }{
		{`{"type":"startReasoning",` + head + `}`, `{"type":"startStreamingReasoning",` + head + `}`},
		{`{"type":"completeReasoning",` + head + `,"text":"t"}`, `{"type":"completeStreamingReasoning",` + head + `,"text":"t"}`},
		{`{"type":"startRunResult",` + head + `}`, `{"type":"startStreamingRunResult",` + head + `}`},
		{
			`{"type":"resolveThought",` + head + `,"toolResult":{"id":"c","skillName":"s","toolName":"think","result":[]},"x":1}`,
			`{"type":"resolveToolResults",` + head + `,"toolResults":[{"id":"c","skillName":"s","toolName":"think","result":[]}],"x":1}`,
		},
	}
	for _, tt := range tests {
		e, err := Unmarshal([]byte(tt.in))
		if err != nil {
			t.Errorf("%s: %v", tt.in, err)
			continue
		}
		got, err := Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		diffJSON(t, []byte(tt.want), got)
	}
}

func TestUnknownEventsAreToldApart(t *testing.T) {
	for _, name := range []string{"streamingText", "errorRun", "", "ofTheFuture"} {
		_, err := Unmarshal(fmt.Appendf(nil, `{"type":%q,%s,"text":"x"}`, name, head))
		if !errors.Is(err, ErrUnknownType) {
			t.Errorf("%q: got %v, want ErrUnknownType", name, err)
		}
	}
	if _, err := Unmarshal([]byte(`{"type":"resolveThought","toolResult":1}`)); err == nil || errors.Is(err, ErrUnknownType) {
		t.Errorf("a broken resolveThought: got %v", err)
	}
}

// A tool may hand over any bytes; recording them must not fail, and what was recorded
// must be readable.
func TestInvalidTextIsReplaced(t *testing.T) {
	e := Event{ID: "e", Body: StreamReasoning{Delta: "a\xffb\x00"}}
	data, err := Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Unmarshal(data)
	if err != nil {
		t.Fatal(err)
	}
	if got := again.Body.(StreamReasoning).Delta; got != "a\ufffdb\x00" {
		t.Errorf("got %q", got)
	}
}

func TestEventWithoutBody(t *testing.T) {
	if _, err := Marshal(Event{ID: "e"}); err == nil {
		t.Error("an event without a body was encoded")
	}
	if _, err := Marshal(Event{Body: CallTools{NewMessage: &Message{Contents: []Part{{Type: "videoPart"}}}}}); err == nil {
		t.Error("a part of unknown type was encoded")
	}
}

// Absent is not null: no golden, and no event with nothing set, encodes a null.
func TestNothingIsNull(t *testing.T) {
	for name, c := range kindsByName {
		e, err := c.decode([]byte(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		data, err := Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(data, []byte("null")) {
			t.Errorf("%s: %s", name, data)
		}
	}
}

func sortedTypes() []Type { return Types() }

// The journal says each fact once: what a turn called is in callTools.
func TestLeanForms(t *testing.T) {
	tests := []struct {
		body Body
		want string // behind the members that all events have
	}{
		{
			CallDelegate{Delegates: []DelegateRun{{ToolCallID: "c", RunID: "kid", Expert: ExpertRef{Key: "k", Name: "k", Version: "1.0.0"}}}},
			`"delegates":[{"toolCallId":"c","runId":"kid","expert":{"key":"k","name":"k","version":"1.0.0"}}]`,
		},
		{
			CallDelegate{Delegates: []DelegateRun{{ToolCallID: "c", RunID: "kid", From: &Origin{RunID: "old", CheckpointID: "cp", Seq: 7}, Query: "q",
				Delegates: []DelegateRun{{ToolCallID: "d", RunID: "grandkid"}}}}},
			`"delegates":[{"toolCallId":"c","runId":"kid","expert":{"key":"","name":"","version":""},"from":{"runId":"old","checkpointId":"cp","seq":7},"query":"q",` +
				`"delegates":[{"toolCallId":"d","runId":"grandkid","expert":{"key":"","name":"","version":""}}]}]`,
		},
		{StopRunByDelegate{}, ``},
		{LimitWarning{Limit: LimitSteps, Used: 80, Max: 100}, `"limit":"steps","used":80,"max":100`},
		{
			LimitWarning{Limit: LimitCost, Used: 0.41, Max: 0.5, NewMessage: &Message{ID: "m", Type: UserMessage, Contents: []Part{{ID: "p", Type: TextPart, Text: "t"}}}},
			`"limit":"cost","used":0.41,"max":0.5,"newMessage":{"id":"m","type":"userMessage","contents":[{"id":"p","type":"textPart","text":"t"}]}`,
		},
		{StopRunByLimit{Limit: LimitLoop}, `"limit":"loop"`},
	}
	for _, tt := range tests {
		e := Event{ID: "e1", ExpertKey: "k", Timestamp: 1, JobID: "j", RunID: "r", StepNumber: 1, Body: tt.body}
		data, err := Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		want := `{"type":"` + string(e.Type()) + `",` + head
		if tt.want != "" {
			want += "," + tt.want
		}
		if want += "}"; string(data) != want {
			t.Errorf("got  %s\nwant %s", data, want)
		}
		again, err := Unmarshal(data)
		if err != nil || !reflect.DeepEqual(again, e) {
			t.Errorf("decoded as %+v, %v", again, err)
		}
	}
}
