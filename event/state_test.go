package event

import (
	"strings"
	"testing"
)

// The Spec of a job comes back byte for byte, whatever a later version writes into it; a
// StartRun without one does not mention it.
func TestRecordedSpec(t *testing.T) {
	const spec = `"spec":{"expert":"w","limits":{"maxSteps":7},"isolation":{"sandbox":true,"env":["A"]},"later":1}`
	line := `{"type":"startRun","id":"e","expertKey":"w","timestamp":1,"jobId":"j","runId":"r","stepNumber":1,"inputMessages":[],` + spec + `}`
	e, err := Unmarshal([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	body := e.Body.(StartRun)
	if string(body.Spec) != strings.TrimPrefix(spec, `"spec":`) {
		t.Fatalf("%s", body.Spec)
	}
	if got := (Job{}).Apply(e).MaxSteps; got != 7 {
		t.Errorf("the job has %d steps, want the 7 of its Spec", got)
	}
	if again, err := Marshal(e); err != nil || string(again) != line {
		t.Errorf("%s, %v", again, err)
	}
	body.Spec = nil
	e.Body = body
	if again, err := Marshal(e); err != nil || strings.Contains(string(again), "spec") {
		t.Errorf("%s, %v", again, err)
	}
}
