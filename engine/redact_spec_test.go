package engine

import (
	"testing"

	"github.com/perstack-go/perstack/internal/secret"
	"github.com/perstack-go/perstack/rawjson"
)

// A recorded Spec holds no secret in any value, however it is escaped. Names stay, and the
// workspace, which a resumed job is compared with.
func TestRedactSpec(t *testing.T) {
	secrets := new(secret.Set)
	secrets.Add("KEY", "quoted\"key-4711")
	parts := Parts{Secrets: secrets}
	text := rawjson.Value(`{"expert":"w","experts":[{"skills":[{"args":["--key","quoted\"key-4711","x=quoted\u0022key-4711"]}]}],` +
		`"models":{"quoted\"key-4711":{"contextWindow":7}},"limits":{"maxCost":0.5},"workspace":{"dir":"/home/quoted\"key-4711"}}`)
	want := `{"expert":"w","experts":[{"skills":[{"args":["--key","[redacted: KEY]","x=[redacted: KEY]"]}]}],` +
		`"models":{"quoted\"key-4711":{"contextWindow":7}},"limits":{"maxCost":0.5},"workspace":{"dir":"/home/quoted\"key-4711"}}`
	if got := parts.redactSpec(text); string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := (&Parts{}).redactSpec(text); string(got) != string(text) {
		t.Errorf("without secrets: %s", got)
	}
}
