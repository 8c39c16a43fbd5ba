package event

import (
	"strings"
	"testing"
)

// Walls come back as they were written, with what a later version adds; a StartRun without
// them does not mention them.
func TestWalls(t *testing.T) {
	const walls = `"walls":{"readOnlyWorkspace":true,"baseImage":"tools:1","env":["A"],"sandbox":true,"sharedCell":true,"later":1}`
	line := `{"type":"startRun","id":"e","expertKey":"w","timestamp":1,"jobId":"j","runId":"r","stepNumber":1,"inputMessages":[],` + walls + `}`
	e, err := Unmarshal([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	body := e.Body.(StartRun)
	if w := body.Walls; w == nil || !w.ReadOnlyWorkspace || w.BaseImage != "tools:1" || len(w.Env) != 1 || !w.Sandbox || !w.SharedCell {
		t.Fatalf("%+v", w)
	}
	if again, err := Marshal(e); err != nil || string(again) != line {
		t.Errorf("%s, %v", again, err)
	}
	body.Walls = nil
	e.Body = body
	if again, err := Marshal(e); err != nil || strings.Contains(string(again), "walls") {
		t.Errorf("%s, %v", again, err)
	}
}
