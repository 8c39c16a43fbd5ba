package perstack_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/perstack-go/perstack"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/file"
	"github.com/perstack-go/perstack/store/memory"
)

// A program hands in its key. Without one the job is not sealed, and its first event says so; a
// program with a key does not continue it, unless it is told to trust the history.
func TestSealedByAProgram(t *testing.T) {
	const answers = "[[turn]]\ntext = \"One.\"\n[[turn]]\ntext = \"Two.\"\n[[turn]]\ntext = \"Three.\"\n"
	sealer := store.NewSealer("shop", store.SealKey{1})
	history := file.New(t.TempDir(), nil)
	for _, jobID := range []string{"sealed", "unsealed"} {
		spec := newSpec(t, named("clerk"))
		spec.JobID = jobID
		parts := perstack.Parts{Store: history, Model: player(t, answers)}
		if jobID == "sealed" {
			parts.Seal = sealer
		}
		said := false
		for e, err := range perstack.Run(t.Context(), spec, parts) {
			if err != nil {
				t.Fatal(err)
			}
			if b, ok := e.Body.(event.StartRun); ok {
				said = strings.Contains(string(b.Spec), `"unsealed":true`)
			}
		}
		if said != (jobID == "unsealed") {
			t.Errorf("%s: its events say that it is not sealed: %v", jobID, said)
		}
		report, err := store.VerifySeals(t.Context(), history, jobID, sealer)
		if seal := (*store.SealError)(nil); jobID == "unsealed" && (!errors.As(err, &seal) || seal.Fault != store.Unsealed) || jobID == "sealed" && (err != nil || report.Sealed != report.Records) {
			t.Errorf("%s: %+v, %v", jobID, report, err)
		}
		spec.Input.Continue, spec.Input.Query = true, "again"
		again := func() error {
			for _, err := range perstack.Run(t.Context(), spec, perstack.Parts{Store: history, Model: player(t, answers), Seal: sealer}) {
				if err != nil {
					return err
				}
			}
			return nil
		}
		err = again()
		if seal := (*store.SealError)(nil); (jobID == "unsealed") != errors.As(err, &seal) {
			t.Errorf("%s: continued with %v", jobID, err)
		}
		spec.Input.TrustHistory = true
		if err := again(); err != nil {
			t.Errorf("%s, trusted: %v", jobID, err)
		}
	}
	for _, err := range perstack.Run(t.Context(), newSpec(t, named("clerk")), perstack.Parts{Store: memory.New(), Model: player(t, answers), Seal: sealer}) {
		if err == nil || !strings.Contains(err.Error(), "the store cannot seal records") {
			t.Errorf("a store that cannot seal: %v", err)
		}
	}
}
