package test

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/rogpeppe/go-internal/testscript"
)

// oneObject checks that a command has printed its result for programs.
func oneObject(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: json NAME…")
	}
	var got map[string]jsontext.Value
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &got))
	requireMembers(ts, got, args)
}

// failure checks that a command has printed an error for programs, and nothing else.
func failure(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: failure KIND [NAME…]")
	}
	var got struct {
		Error map[string]jsontext.Value `json:"error"`
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &got, json.RejectUnknownMembers(true)))
	requireMembers(ts, got.Error, append([]string{"kind", "message"}, args[1:]...))
	if kind := string(got.Error["kind"]); kind != `"`+args[0]+`"` {
		ts.Fatalf("the kind is %s, not %s", kind, args[0])
	}
	if ts.ReadFile("stderr") == "" {
		ts.Fatalf("standard error does not have the message")
	}
}

func requireMembers(ts *testscript.TestScript, object map[string]jsontext.Value, names []string) {
	for _, name := range names {
		if value, ok := object[name]; !ok || string(value) == `""` {
			ts.Fatalf("there is no %s", name)
		}
	}
}
