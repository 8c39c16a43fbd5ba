//go:build ollama

package test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/testkit/gguf"
)

// call is how the models write a tool call.
func call(tool, arguments string) string {
	return fmt.Sprintf(`{"name":%q,"parameters":%s}`, tool, arguments)
}

// ollamaLines are what the models can say. Tokens that are equal otherwise differ by a space.
var ollamaLines = []gguf.Line{
	{Mark: "<|text|>", Tokens: []string{"Hello", " from", " a", " tiny", " model."}},
	{Mark: "<|pieces|>", Tokens: []string{"Grüße ", gguf.Byte(0xF0), gguf.Byte(0x9F), gguf.Byte(0x99), gguf.Byte(0x82)}},
	{Mark: "<|finish|>", Tokens: []string{call("attemptCompletion", "{}")}},
	{Mark: "<|read|>", Tokens: []string{call("readTextFile", `{"path":"notes.txt"}`)}},
	{Mark: "<|two|>", Tokens: []string{`{"name":"readTextFile","parameters":`, `{"path":"notes.txt"}}`, `{"name":"readTextFile",`, `"parameters":{"path":"more.txt"}}`}},
	{Mark: "<|think|>", Tokens: []string{"<think>Let", " me think.", "</think>", "Thought", "."}},
	{Mark: "<|thinkread|>", Tokens: []string{"<think>I", " will read.", "</think>" + call("readTextFile", `{"path": "notes.txt"}`)}},
	{Mark: "<|tagged|>", Tokens: []string{"I will", " read it.", "<tool_call>", `{"name": "readTextFile", "arguments": {"path":"notes.txt"}}`, "</tool_call>"}},
	{Mark: "<|words|>", Tokens: numbered(" word", 40), Loop: true},
	{Mark: "<|same|>", Tokens: []string{" la"}, Loop: true},
	{Mark: "<|delegate|>", Tokens: []string{call("helper", `{"query":"Say hello"}`)}},
	{Mark: "<|delegates|>", Tokens: []string{call("helper", `{"query": "Say hello"}`), call("helper", `{"query":"Say hello" }`)}},
	{Mark: "<|unknown|>", Tokens: []string{call("noSuchTool", "{}")}},
	{Mark: "<|wrong|>", Tokens: []string{call("readTextFile", `{"path":5}`)}},
	{Mark: "<|nothing|>"},
	{Mark: "<|long|>", Tokens: append(append([]string{`{"name":"writeTextFile","parameters":{"path":"big.txt","text":"`}, numbered("w", 400)...), `"}}`)},
}

func numbered(word string, n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("%s%d", word, i))
	}
	return all
}

// ollamaTemplate writes a conversation without its tools and instruction, which would cost a
// tiny model thousands of tokens, and then the mark that selects what the model says. The
// server learns from it how the model writes calls and thoughts.
func ollamaTemplate(thinks bool, mark string) string {
	thought := ""
	if thinks {
		thought = `{{ if .Thinking }}<think>{{ .Thinking }}</think>{{ end }}`
	}
	return `{{- if .Tools }}{{ end }}{{- range $i, $m := .Messages }}{{- $last := eq (len (slice $.Messages $i)) 1 }}` + thought +
		`{{ if ne .Role "system" }}{{ .Content }}{{ end }}` +
		`{{ range .ToolCalls }}{"name": "{{ .Function.Name }}", "parameters": {{ .Function.Arguments }}}{{ end }}` +
		`{{ if $last }}` + mark + `{{ end }}{{ end }}`
}

// first says the mark to the user, attemptCompletion after any other tool, and a text at the end.
func first(mark string) string {
	return `{{ if eq .Role "tool" }}{{ if eq .ToolName "attemptCompletion" }}<|text|>{{ else }}<|finish|>{{ end }}{{ else }}` + mark + `{{ end }}`
}

// ollamaModels are the models by name.
var ollamaModels = map[string]string{
	"say":       ollamaTemplate(false, "<|text|>"),
	"pieces":    ollamaTemplate(false, "<|pieces|>"),
	"finish":    ollamaTemplate(false, first("<|finish|>")),
	"read":      ollamaTemplate(false, first("<|read|>")),
	"two":       ollamaTemplate(false, first("<|two|>")),
	"think":     ollamaTemplate(true, "<|think|>"),
	"thinkread": ollamaTemplate(true, first("<|thinkread|>")),
	"tagged":    ollamaTemplate(false, first("<|tagged|>")),
	"words":     ollamaTemplate(false, "<|words|>"),
	"same":      ollamaTemplate(false, "<|same|>"),
	"lead":      ollamaTemplate(false, first(`{{ if eq .Content "Say hello" }}<|text|>{{ else }}<|delegate|>{{ end }}`)),
	"leads":     ollamaTemplate(false, first(`{{ if eq .Content "Say hello" }}<|text|>{{ else }}<|delegates|>{{ end }}`)),
	"unknown":   ollamaTemplate(false, "<|unknown|>"),
	"wrong":     ollamaTemplate(false, first("<|wrong|>")),
	"nothing":   ollamaTemplate(false, "<|nothing|>"),
	"long":      ollamaTemplate(false, first("<|long|>")),
}

// startOllama starts the server that PERSTACK_OLLAMA names, with the models above, and
// returns its address.
func startOllama(t *testing.T) string {
	t.Helper()
	program := os.Getenv("PERSTACK_OLLAMA")
	if program == "" {
		t.Fatal("PERSTACK_OLLAMA must name the program ollama; run: make ollama")
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	dir := t.TempDir()
	var log bytes.Buffer
	ctx, cancel := context.WithCancel(context.Background())
	server := exec.CommandContext(ctx, program, "serve")
	server.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "OLLAMA_HOST=" + address, "OLLAMA_MODELS=" + filepath.Join(dir, "models"), "OLLAMA_NUM_PARALLEL=2"}
	server.Cancel = func() error { return server.Process.Signal(syscall.SIGTERM) } // it ends its runners
	output, err := server.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	listening, copied := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(copied)
		said := bufio.NewScanner(output)
		var once sync.Once
		for said.Scan() {
			fmt.Fprintln(&log, said.Text())
			if strings.Contains(said.Text(), "Listening on") {
				once.Do(func() { close(listening) })
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-copied
		_ = server.Wait() // ended by a signal
		if text := log.String(); t.Failed() {
			t.Logf("the end of the server's log:\n%s", text[max(0, len(text)-8000):])
		}
	})
	select {
	case <-listening:
	case <-copied:
		t.Fatal("the server has ended")
	}
	model, err := gguf.Write(ollamaLines...)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(model)
	digest := "sha256:" + hex.EncodeToString(sum[:])
	post(t, "http://"+address+"/api/blobs/"+digest, model)
	for name, text := range ollamaModels {
		request, err := json.Marshal(map[string]any{
			"model": name, "files": map[string]string{"m.gguf": digest}, "template": text, "parameters": map[string]any{"temperature": 0}, "stream": false,
		})
		if err != nil {
			t.Fatal(err)
		}
		post(t, "http://"+address+"/api/create", request)
	}
	return address
}

func post(t *testing.T, url string, body []byte) {
	t.Helper()
	resp, err := http.Post(url, "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if answer, _ := io.ReadAll(resp.Body); resp.StatusCode >= 300 {
		t.Fatalf("%s: %s: %s", url, resp.Status, answer)
	}
}

const ollamaProject = `
[experts.reader]
instruction = "Read."

[experts.lead]
instruction = "Lead."
delegates = ["helper"]

[experts.helper]
description = "Helps."
instruction = "Help."
`

// TestOllama runs the program against a real Ollama server, by its own API and by the one
// that it shares with others.
func TestOllama(t *testing.T) {
	address := startOllama(t)
	for _, provider := range []struct{ name, variable, missing string }{
		{"ollama", "OLLAMA_HOST=" + address, "ollama pull missing"},
		{"openai-compatible", "OPENAI_COMPATIBLE_BASE_URL=http://" + address + "/v1", "model 'missing' not found"},
	} {
		t.Run(provider.name, func(t *testing.T) {
			for _, c := range []struct {
				model, expert string
				args          []string
				code          int
				stdout        []string // each is in the events
				stderr        string
			}{
				{model: "say", code: 0, stdout: []string{`"text":"Hello from a tiny model."`}},
				{model: "pieces", code: 0, stdout: []string{`"text":"Grüße 🙂"`}},
				{model: "finish", code: 0, stdout: []string{`"toolName":"attemptCompletion"`, `"text":"Hello from a tiny model."`}},
				{model: "read", code: 0, stdout: []string{"what the notes say", `"text":"Hello from a tiny model."`}},
				{model: "two", code: 0, stdout: []string{"what the notes say", "and more"}},
				{model: "think", code: 0, args: []string{"--reasoning-budget", "low"}, stdout: []string{"Let me think.", `"text":"Thought."`}},
				{model: "thinkread", code: 0, args: []string{"--reasoning-budget", "low"}, stdout: []string{"I will read.", "what the notes say"}},
				{model: "tagged", code: 1, stdout: []string{"written as text"}},
				{model: "unknown", code: 1},
				{model: "wrong", code: 0, stdout: []string{`"text":"Hello from a tiny model."`}},
				{model: "lead", expert: "lead", code: 0, stdout: []string{`"expertKey":"helper"`, `"text":"Hello from a tiny model."`}},
				{model: "leads", expert: "lead", code: 0, stdout: []string{`"text":"Hello from a tiny model."`}},
				{model: "long", code: 0, stdout: []string{"w0w1w2", "w398w399"}},
				{model: "nothing", code: 1, args: []string{"--max-retries", "1"}},
				{model: "same", code: 1, args: []string{"--max-retries", "1"}},
				{model: "words", code: 3, args: []string{"--max-tokens", "100"}, stdout: []string{`"limit":"tokens"`}},
				{model: "words", code: 3, args: []string{"--max-duration", "2s"}, stdout: []string{`"limit":"duration"`}},
				{model: "missing", code: 1, stderr: provider.missing},
			} {
				t.Run(c.model, func(t *testing.T) {
					dir := t.TempDir()
					put(t, filepath.Join(dir, "perstack.toml"), ollamaProject)
					put(t, filepath.Join(dir, "notes.txt"), "what the notes say\n")
					put(t, filepath.Join(dir, "more.txt"), "and more\n")
					expert := c.expert
					if expert == "" {
						expert = "reader"
					}
					args := append([]string{"run", expert, "go", "--provider", provider.name, "--model", c.model}, c.args...)
					stdout, stderr, code := runProgram(t, dir, append(plainEnviron(t), provider.variable), args...)
					if code != c.code || !strings.Contains(stderr, c.stderr) {
						t.Errorf("ended with %d, want %d and %q: %s", code, c.code, c.stderr, stderr)
					}
					for _, part := range c.stdout {
						if !strings.Contains(stdout, part) {
							t.Errorf("no %s in the events", part)
						}
					}
					if t.Failed() {
						t.Logf("%s\n%s", stdout, stderr)
					}
				})
			}
		})
	}
}
