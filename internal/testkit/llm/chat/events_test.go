package chat_test

import (
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit"
)

// What the answers look like, byte by byte.
func TestAnswers(t *testing.T) {
	const usage = "usage = { input = 7, output = 50, cached = 100, cacheWrite = 1000, reasoning = 20 }\n"
	calls := "[[turn.call]]\nid = \"c1\"\ntool = \"read\"\nargs = { path = \"notes.txt\" }\n[[turn.call]]\ntool = \"think\"\nreasoning = \"And this.\"\n"
	for name, call := range map[string]caller{"azure": azure(), "deepseek": deepSeek()} {
		for kind, script := range map[string]string{
			"text":     "[[turn]]\ntext = \"one two\"\n" + usage,
			"calls":    "[[turn]]\nreasoning = \"I think.\"\ntext = \"Both.\"\n" + calls,
			"length":   "[[turn]]\ntext = \"\"\nlength = true\n",
			"withheld": "[[turn]]\ntext = \"x\"\nstop = \"content_filter\"\n",
			"no stop":  "[[turn]]\ntext = \"x\"\nstop = \"\"\n",
			"error":    "[[turn]]\ntext = \"one two\"\nerrorAfter = 2\n[turn.error]\nkind = \"rateLimit\"\nmessage = \"slow \\\"down\\\"\"\n",
		} {
			_, root := start(t, script)
			a := call.post(t, root, body(""))
			if a.status != 200 || a.header.Get("Content-Type") != "text/event-stream; charset=utf-8" {
				t.Errorf("%s %s: %d %v %s", name, kind, a.status, a.header, a.body)
			}
			testkit.Golden(t, name+"_"+strings.ReplaceAll(kind, " ", "_")+".sse", a.body)
		}
	}
}

// Errors in the place of an answer have the shape that the services give them.
func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		table string
		call  caller
		want  string
	}{
		{"status = 429\n", azure(), `{"error":{"message":"no","type":"requests","param":null,"code":"rate_limit_exceeded"}}`},
		{"status = 429\ntype = \"insufficient_quota\"\n", azure(), `{"error":{"message":"no","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`},
		{"status = 401\n", azure(), `{"error":{"code":"401","message":"no"}}`},
		{"status = 401\n", deepSeek(), `{"error":{"message":"no","type":"authentication_error","param":null,"code":"invalid_api_key"}}`},
		{"status = 418\n", deepSeek(), `{"error":{"message":"no","type":"invalid_request_error","param":null,"code":null}}`},
		{"status = 529\n", deepSeek(), `{"error":{"message":"no","type":"server_error","param":null,"code":null}}`},
	} {
		_, root := start(t, "[[turn]]\n[turn.error]\nmessage = \"no\"\n"+tt.table)
		if a := tt.call.post(t, root, body("")); a.body != tt.want {
			t.Errorf("%q became %s, want %s", tt.table, a.body, tt.want)
		}
	}
}
