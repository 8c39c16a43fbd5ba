package base_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/skills/base"
	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/rawjson"
	"github.com/perstack-go/perstack/skill"
)

// What the models are shown. A change here is a change of prompts: read it as one.
func TestToolsGolden(t *testing.T) {
	s := base.New(base.Options{})
	if s.Name() != event.BaseSkill {
		t.Errorf("Name() = %q", s.Name())
	}
	tools, err := s.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	type shown struct {
		Name        string        `json:"name"`
		Title       string        `json:"title"`
		Repeatable  bool          `json:"repeatable"`
		ReadOnly    bool          `json:"readOnly"`
		Description string        `json:"description"`
		InputSchema rawjson.Value `json:"inputSchema"`
	}
	var list []shown
	for _, tool := range tools {
		if tool.Kind != skill.Plain {
			t.Errorf("%s has kind %d", tool.Name, tool.Kind)
		}
		list = append(list, shown{tool.Name, tool.Title, tool.Repeatable, tool.ReadOnly, tool.Description, tool.InputSchema})
		if tool.ReadOnly && !tool.Repeatable {
			t.Errorf("%s only reads, but must not be repeated", tool.Name)
		}
	}
	got, err := json.Marshal(list, jsontext.WithIndent("  "))
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	testkit.Golden(t, "tools.golden.json", string(got))
}

// The schemas say what the decoders do.
func TestSchemasAgree(t *testing.T) {
	b := newBench(t)
	good := map[string]string{
		"attemptCompletion": `{}`,
		"think":             `{"thought":"x","nextThoughtNeeded":true}`,
		"todo":              `{"newTodos":["a"],"completedTodos":[0]}`,
		"clearTodo":         `{}`,
		"exec":              `{"command":"true","args":[],"env":{"A":"b"},"cwd":".","stdout":true,"stderr":false,"timeout":1000}`,
		"getFileInfo":       `{"path":"a.txt"}`,
		"healthCheck":       `{}`,
		"readTextFile":      `{"path":"a.txt","from":0,"to":1}`,
		"readImageFile":     `{"path":"i.png"}`,
		"readPdfFile":       `{"path":"d.pdf"}`,
		"writeTextFile":     `{"path":"w.txt","text":""}`,
		"appendTextFile":    `{"path":"a.txt","text":"x"}`,
		"editTextFile":      `{"path":"e.txt","oldText":"one","newText":"two"}`,
		"moveFile":          `{"source":"m.txt","destination":"n.txt"}`,
		"deleteFile":        `{"path":"x.txt"}`,
		"listDirectory":     `{"path":".","offset":0,"limit":1}`,
		"glob":              `{"pattern":"*.txt","path":".","ignored":true,"limit":1}`,
		"grep":              `{"pattern":"a","path":".","glob":"*.txt","ignoreCase":true,"context":1,"filesOnly":false,"ignored":true,"limit":1}`,
		"createDirectory":   `{"path":"new"}`,
		"deleteDirectory":   `{"path":"old","recursive":true}`,
	}
	// What a call uses up is put there before each one.
	prepare := func() {
		for name, text := range map[string]string{"i.png": "GIF89a", "d.pdf": "%PDF-1.7", "e.txt": "one", "m.txt": "", "x.txt": "", "old/x": ""} {
			b.put(name, text)
		}
		for _, name := range []string{"n.txt", "new", "old/x"} {
			if err := os.RemoveAll(filepath.Join(b.dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	tools, err := b.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools {
		var schema struct {
			Type       string                   `json:"type"`
			Properties map[string]rawjson.Value `json:"properties"`
			Required   []string                 `json:"required"`
			Additional *bool                    `json:"additionalProperties"`
		}
		if err := json.Unmarshal(tool.InputSchema, &schema, json.RejectUnknownMembers(true)); err != nil {
			t.Fatalf("%s: %v", tool.Name, err)
		}
		if schema.Type != "object" || schema.Additional == nil || *schema.Additional {
			t.Errorf("%s: the schema takes more than the decoder", tool.Name)
		}
		// The example has every argument, and the decoder takes it: they name the same.
		example := fields(t, good[tool.Name])
		for name := range schema.Properties {
			if _, ok := example[name]; !ok {
				t.Errorf("%s: the example lacks %q", tool.Name, name)
			}
		}
		if len(example) != len(schema.Properties) {
			t.Errorf("%s: the schema lacks arguments", tool.Name)
		}
		prepare()
		if text, r := b.call(tool.Name, example); r.IsError {
			t.Errorf("%s: %s", tool.Name, text)
		}
		for name := range schema.Properties {
			args := maps.Clone(example)
			delete(args, name)
			prepare()
			if text, r := b.call(tool.Name, args); r.IsError != slices.Contains(schema.Required, name) {
				t.Errorf("%s without %q: %s", tool.Name, name, text)
			}
		}
		prepare()
		example["unknown"] = 1
		if text, r := b.call(tool.Name, example); !r.IsError {
			t.Errorf("%s with an unknown argument: %s", tool.Name, text)
		}
	}
}
