package gguf

import (
	"bytes"
	"strings"
	"testing"
)

func TestWrite(t *testing.T) {
	model, err := Write(Line{Mark: "<|a|>", Tokens: []string{"One", " two", Byte(0xF0), Byte(0x9F)}}, Line{Mark: "<|b|>", Tokens: []string{" la"}, Loop: true})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(model, []byte("GGUF\x03\x00\x00\x00")) || len(model)%alignment != 0 {
		t.Errorf("%d bytes that begin with %q", len(model), model[:8])
	}
	again, err := Write(Line{Mark: "<|a|>", Tokens: []string{"One", " two", Byte(0xF0), Byte(0x9F)}}, Line{Mark: "<|b|>", Tokens: []string{" la"}, Loop: true})
	if err != nil || !bytes.Equal(model, again) {
		t.Errorf("the same lines gave another file: %v", err)
	}
}

func TestSuccessors(t *testing.T) {
	v, err := newVocabulary([]Line{{Mark: "<|a|>", Tokens: []string{"One", " two"}}, {Mark: "<|b|>", Tokens: []string{" la", " lu"}, Loop: true}, {Mark: "<|c|>"}})
	if err != nil {
		t.Fatal(err)
	}
	for token, want := range map[string]string{
		"<|a|>": "One", "One": "\u2581two", "\u2581two": "</s>",
		"<|b|>": "\u2581la", "\u2581la": "\u2581lu", "\u2581lu": "\u2581la",
		"<|c|>": "</s>",
	} {
		if got := v.names[v.next[v.ids[token]]]; got != want {
			t.Errorf("after %q comes %q, want %q", token, got, want)
		}
	}
	if len(v.names)%multiple != 0 {
		t.Errorf("%d tokens", len(v.names))
	}
}

func TestOneSuccessorEach(t *testing.T) {
	for _, lines := range [][]Line{
		{{Mark: "<|a|>"}, {Mark: "<|a|>"}},
		{{Mark: "<|a|>", Tokens: []string{"x", "x"}}},
		{{Mark: "<|a|>", Tokens: []string{"x"}}, {Mark: "<|b|>", Tokens: []string{"x"}}},
		{{Mark: "<|a|>", Tokens: []string{Byte(1), "x"}}, {Mark: "<|b|>", Tokens: []string{Byte(1), "y"}}},
	} {
		if _, err := Write(lines...); err == nil || !strings.Contains(err.Error(), "two ") {
			t.Errorf("%v: %v", lines, err)
		}
	}
}
