package manifest

import (
	"strings"
	"testing"
)

// Parser and schema agree about images and mirrors, on what is right and on what only looks
// like it.
func TestImagesAndTheSchema(t *testing.T) {
	v := newValidator(t)
	id := "sha256:" + strings.Repeat("0f", 32)
	for value, good := range map[string]bool{
		"node:24": true, "node:24@" + id: true, id: true, "h.example:5000/a/node@" + id: true,
		"sha256:abc": false, id + "0": false, strings.ToUpper(id): false, "node@" + id + "0": false, "--net=host": false, "a b": false, "a\nb": false, "": false,
		"registry/" + strings.Repeat("a", maxImage): false,
	} {
		for _, key := range []string{"nodeImage", "pythonImage", "squidImage"} {
			doc := map[string]any{"docker": map[string]any{key: value}}
			_, ps := Parse(FileName, encodeTOML(t, doc))
			if wrong := v.file(doc); (ps.Err() == nil) != good || (len(wrong) == 0) != good {
				t.Errorf("%s = %q: the parser says %v, the schema %q", key, value, ps.Err(), wrong)
			}
		}
	}
	for value, good := range map[string]bool{
		"m.example": true, "m.example:5000": true, "m.example/a/b": true, "localhost:5000/hub": true,
		"": false, "http://m.example": false, "m.example/": false, "m.example//a": false, "m.example:": false, "-m": false, "u:p@m.example": false, "m.example?x": false, "m.example/A": false, "m example": false, "[::1]:5000": false,
	} {
		doc := map[string]any{"docker": map[string]any{"mirrors": []any{value}}}
		_, ps := Parse(FileName, encodeTOML(t, doc))
		if wrong := v.file(doc); (ps.Err() == nil) != good || (len(wrong) == 0) != good {
			t.Errorf("mirror %q: the parser says %v, the schema %q", value, ps.Err(), wrong)
		}
	}
	for text, good := range map[string]bool{
		"proxy='squid'": false, "proxy='squid'\nsquidImage='s'": true, "proxy='builtin'": true,
		"baseImage='a'\nnodeImage='b'": false, "baseImage='a'\npythonImage='b'": false, "nodeImage='a'\npythonImage='b'": true, "baseImage='a'\nsquidImage='s'\nproxy='squid'": true,
	} {
		_, ps := Parse(FileName, []byte("[docker]\n"+text))
		if wrong := v.file(decodeTOML(t, "[docker]\n"+text)); (ps.Err() == nil) != good || (len(wrong) == 0) != good {
			t.Errorf("%q: the parser says %v, the schema %q", text, ps.Err(), wrong)
		}
	}
	// What has no effect is said, and no more.
	check(t, "[docker]\nsquidImage='s:1'", `p.toml:2:1: warning: docker.squidImage: has no effect; add proxy = "squid" to use it`)
}
