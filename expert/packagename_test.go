package expert

import (
	"testing"
)

func TestPackageName(t *testing.T) {
	for s, want := range map[string]bool{
		"x": true, "@scope/x": true, "x@1.0.0": true, "@scope/x@latest": true, "mcp-server_x.y": true,
		"": false, "-y": false, "--call=x": false, "@scope/-x": false, "X": false, "x y": false, "x;y": false,
		"../x": false, "x@": false, "git+https://x.example": false, "x@1.0.0 -y": false, "x\n": false, "file:x": false,
	} {
		if message, _ := PackageName(s); (message == "") != want {
			t.Errorf("%q: %q", s, message)
		}
	}
}
