package jq

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

var sample = map[string]any{
	"type": "retry", "stepNumber": 3.0, "reason": "slow down",
	"usage": map[string]any{"inputTokens": 120.0}, "list": []any{"a", nil, false},
}

func TestKeeps(t *testing.T) {
	for expr, want := range map[string]bool{
		".":                                    true,
		`.type == "retry"`:                     true,
		`.type == "startRun"`:                  false,
		`.missing`:                             false,
		"false, true":                          false, // the first result counts
		"true, false":                          true,
		"null, 1":                              false,
		"0":                                    true, // as in jq, only null and false are not kept
		`""`:                                   true,
		"empty":                                false,
		"select(.stepNumber > 2)":              true,
		"select(.stepNumber > 3)":              false,
		`.reason | test("slow")`:               true,
		`.usage.inputTokens >= 120`:            true,
		`any(.list[]; . == "a")`:               true,
		"def f: .type; f | startswith(\"re\")": true,
		"env == {} and $ENV == {}":             true, // there is no environment
		"env.HOME // $ENV.PATH":                false,
		"first(repeat(1))":                     true, // only the first result is made
	} {
		x, err := Compile(expr)
		if err != nil {
			t.Errorf("%s: %v", expr, err)
			continue
		}
		if got, err := x.Keeps(t.Context(), sample); err != nil || got != want {
			t.Errorf("%s: %v, %v, want %v", expr, got, err, want)
		}
	}
}

func TestFailures(t *testing.T) {
	for expr, want := range map[string]string{
		".type.x":              "expected an object but got: string",
		`error("no")`:          "no",
		"halt":                 "halt",
		`"a" | modulemeta`:     "cannot load module",
		`.type | test("(")`:    "invalid regular expression",
		`"ab" * 1e12 | length`: "too large",
	} {
		x, err := Compile(expr)
		if err != nil {
			t.Errorf("%s: %v", expr, err)
			continue
		}
		if keeps, err := x.Keeps(t.Context(), sample); keeps || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v, want %q", expr, keeps, err, want)
		}
	}
}

func TestSyntaxErrors(t *testing.T) {
	for expr, want := range map[string]string{
		".type == }":                "line 1, column 10: unexpected token \"}\"",
		".type ==":                  "line 1, column 9: the expression is not complete",
		`.type == "retry`:           "line 1, column 16: unterminated string literal",
		`"a\q"`:                     `line 1, column 3: invalid escape sequence "\q" in string literal`,
		".a |\n  .b | }":            "line 2, column 8: unexpected token \"}\"",
		`"日本" | }`:                  "line 1, column 8: unexpected token \"}\"",
		"":                          `line 1, column 1: missing query (try ".")`,
		".type | contain(\"x\")":    "line 1, column 9: function not defined: contain/1",
		".x | $y":                   "line 1, column 6: variable not defined: $y",
		".inputs | input":           "line 1, column 11: an expression sees one event, so it has no input",
		"[inputs]":                  "line 1, column 2: an expression sees one event, so it has no input",
		`import "a" as a; a::f`:     "line 1, column 1: modules cannot be loaded",
		`include "/etc/passwd"; .`:  "line 1, column 1: modules cannot be loaded",
		`debug`:                     "line 1, column 1: function not defined: debug/0",
		`input_filename`:            "line 1, column 1: function not defined: input_filename/0",
		strings.Repeat(" ", 10_001): "line 1, column 1: it has 10001 bytes, and 10000 are allowed",
	} {
		_, err := Compile(expr)
		if wrong, ok := errors.AsType[*SyntaxError](err); !ok || wrong.Error() != want {
			t.Errorf("%q: %v, want %s", expr, err, want)
		}
	}
}

// What does not end is given up: an expression of steps, and a single operation that does not
// look at the time.
func TestTime(t *testing.T) {
	for _, expr := range []string{"last(repeat(1))", "def f: 1 + f; f", `[range(3e6)] | map(tostring) | sort | length > 1e9`} {
		x, err := Compile(expr)
		if err != nil {
			t.Fatal(err)
		}
		x.maxTime = 10 * time.Millisecond
		if _, err := x.Keeps(t.Context(), sample); !errors.Is(err, ErrTime) {
			t.Errorf("%s: %v", expr, err)
		}
	}
}

func TestCancelled(t *testing.T) {
	x, err := Compile("last(repeat(1))")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := x.Keeps(ctx, sample); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that it was cancelled", err)
	}
}

func TestMemory(t *testing.T) {
	x, err := Compile(`[repeat("x")] | length`)
	if err != nil {
		t.Fatal(err)
	}
	x.maxTime, x.maxMemory = time.Hour, 64<<20
	if _, err := x.Keeps(t.Context(), sample); !errors.Is(err, ErrMemory) {
		t.Errorf("%v, want ErrMemory", err)
	}
}

// FuzzKeeps looks for expressions that end the program, or that see more than the value.
func FuzzKeeps(f *testing.F) {
	for _, seed := range []string{
		".", "env", "$ENV", "input", `.a as [$x, {y: $z}] | $x`, `"\(1 + 2)"`, "reduce .[] as $x (0; . + 1)",
		"try error catch .", ".. |= 1", "label $f | break $f", `@sh "x \(.)"`, "limit(1; .[]?)", "def f(g): g | g; f(.a)",
		`import "a" as a; .`, "[.[] | ltrimstr(\"a\")]", "input_line_number", "getpath([\"a\",0])", "splits(\"a\")", "-1 / 0",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, expr string) {
		x, err := Compile(expr)
		if err != nil {
			wrong, ok := errors.AsType[*SyntaxError](err)
			if lines := strings.Count(expr, "\n") + 1; !ok || wrong.Line < 1 || wrong.Line > lines || wrong.Column < 1 || wrong.Column > len(expr)+1 {
				t.Fatalf("%q: %v", expr, err)
			}
			return
		}
		x.maxTime = 100 * time.Millisecond
		again, errAgain := x.Keeps(t.Context(), sample)
		keeps, err := x.Keeps(t.Context(), sample)
		if err == nil && errAgain == nil && keeps != again && !strings.Contains(expr, "now") {
			t.Errorf("%q: %v, then %v", expr, again, keeps)
		}
		if sample["type"] != "retry" || len(sample) != 5 {
			t.Fatalf("%q changed the value", expr)
		}
	})
}
