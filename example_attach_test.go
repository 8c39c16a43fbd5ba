package perstack_test

import (
	"fmt"

	"github.com/perstack-go/perstack"
	"github.com/perstack-go/perstack/job"
)

// A Spec names a file by its digest, and Parts have the bytes: the Spec can be recorded, printed and
// queued without them.
func ExampleAttach() {
	spec := job.Spec{Input: job.Input{Query: "What does it say?"}}
	var parts perstack.Parts
	if err := perstack.Attach(&spec, &parts, "notes.md", []byte("The launch moves to May.")); err != nil {
		fmt.Println(err)
		return
	}
	for _, a := range spec.Input.Attachments {
		fmt.Println(a.Name, a.MIMEType, a.Digest[:20], len(parts.Attachments[a.Digest]))
	}
	// Output: notes.md text/plain sha256:72bdffa35b7e1 24
}
