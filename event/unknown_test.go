package event

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"testing"
)

// TestUnknownMembersSurvive puts an unknown member into every object of
// every golden, at every level: event, checkpoint, step, message, part, usage, call,
// result and the rest.
func TestUnknownMembersSurvive(t *testing.T) {
	files, err := filepath.Glob("testdata/events/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			roundTripWithFuture(t, readFile(t, file))
		})
	}
	for line := range bytes.Lines(readFile(t, "testdata/journal.jsonl")) {
		roundTripWithFuture(t, line)
	}
}

func roundTripWithFuture(t *testing.T, golden []byte) {
	t.Helper()
	var v any
	if err := json.Unmarshal(golden, &v); err != nil {
		t.Fatal(err)
	}
	want, err := json.Marshal(withFuture(v))
	if err != nil {
		t.Fatal(err)
	}
	e, err := Unmarshal(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	diffJSON(t, want, got)
}

func withFuture(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			v[name] = withFuture(member)
		}
		v["ofTheFuture"] = []any{"kept", 1.5, nil, map[string]any{"deep": true}}
	case []any:
		for i := range v {
			v[i] = withFuture(v[i])
		}
	}
	return v
}

func TestJobKeepsUnknownMembers(t *testing.T) {
	data := []byte(`{"id":"j","coordinatorExpertKey":"k","status":"running","totalSteps":1,
		"usage":{"inputTokens":0,"outputTokens":0,"reasoningTokens":0,"totalTokens":0,"cachedInputTokens":0,"audio":3},
		"startedAt":1,"owner":{"pid":7}}`)
	var j Job
	if err := unmarshal(data, &j); err != nil {
		t.Fatal(err)
	}
	again, err := marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	diffJSON(t, data, again)
}
