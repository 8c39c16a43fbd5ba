package base

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/perstack-go/perstack/internal/schema"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/internal/workspace"
)

type grepArgs struct {
	Pattern    string  `json:"pattern" minLength:"1" jsonschema:"regular expression (RE2)"`
	Path       *string `json:"path,omitzero" jsonschema:"file or directory inside the workspace; its root if left out"`
	Glob       *string `json:"glob,omitzero" jsonschema:"pattern of the paths to search, such as *.go"`
	IgnoreCase bool    `json:"ignoreCase,omitzero" jsonschema:"whether upper and lower case are the same"`
	Context    int     `json:"context,omitzero" minimum:"0" maximum:"10" jsonschema:"number of lines to show before and after each match"`
	FilesOnly  bool    `json:"filesOnly,omitzero" jsonschema:"whether to return only the paths of files with a match"`
	Ignored    bool    `json:"ignored,omitzero" jsonschema:"whether to include what .gitignore files exclude"`
	Limit      *int    `json:"limit,omitzero" minimum:"1" maximum:"1000" jsonschema:"number of matching lines, or of files with filesOnly"`
}

const (
	defaultMatches = 100
	maxExpression  = 1000      // bytes
	maxProgram     = 2000      // instructions of a compiled expression; each can cost a step for each byte
	maxGrepFile    = 16 << 20  // bytes
	maxGrepRead    = 512 << 20 // bytes of all files together
	maxGrepLine    = 64 << 10  // bytes of a line that are searched
	maxSecret      = 4 << 10   // bytes of a long line that are left out, since they can be half a secret
	shownLine      = 500       // bytes of a line that are returned
)

var _ = tools.add(define("grep", (*Skill).grep, readOnly))

type grepBody struct {
	Files     []grepFile `json:"files"`
	Matches   int        `json:"matches"`
	Skipped   grepSkips  `json:"skipped,omitzero"`
	Truncated bool       `json:"truncated,omitzero"`
	Reason    string     `json:"reason,omitzero"`
}

type grepFile struct {
	Path  string     `json:"path"`
	Lines []grepLine `json:"lines,omitempty"`
}

// A grepLine is a line with a match, or one beside it.
type grepLine struct {
	Line    int64  `json:"line"`
	Text    string `json:"text"`
	Context bool   `json:"context,omitzero"`
}

// grepSkips counts the files that were not searched.
type grepSkips struct {
	Binary     int `json:"binary,omitzero"`
	Large      int `json:"large,omitzero"`
	Unreadable int `json:"unreadable,omitzero"`
}

func (s *Skill) grep(ctx context.Context, args grepArgs) answer {
	expression, err := compile(args.Pattern, args.IgnoreCase)
	if err != nil {
		return refuseError(&schema.Error{Field: "pattern", Problem: err.Error()})
	}
	selects, err := workspace.ParseGlob(valueOr(args.Glob, "*"))
	if err != nil {
		return refuseError(&schema.Error{Field: "glob", Problem: err.Error()})
	}
	path := valueOr(args.Path, ".")
	info, err := s.opts.Workspace.Stat(ctx, path)
	if err != nil {
		return refuseError(err)
	}
	g := &grepSearch{skill: s, args: args, limit: valueOr(args.Limit, defaultMatches), expression: expression, left: maxGrepRead}
	g.in, g.body.Files = bufio.NewReaderSize(nil, maxGrepLine), []grepFile{}
	var refused error
	leftOut, err := s.find(ctx, path, args.Ignored, func(ctx context.Context, f workspace.Found) bool {
		switch {
		case !info.Dir:
			refused = g.file(ctx, path, f.Path) // of a file that is named, the model is told
		case f.Regular && selects.Match(f.Below, false):
			_ = g.file(ctx, "./"+f.Path, f.Path)
		}
		return g.full == "" && ctx.Err() == nil
	})
	if err = errors.Join(err, refused); err != nil {
		return refuseError(err)
	}
	g.body.Reason = cmp.Or(g.full, leftOut)
	g.body.Truncated = g.body.Reason != ""
	return answer{body: g.body}
}

// compile compiles an expression. RE2 needs no more steps for a line than its length times the
// size of the program, so that bounding both bounds the time.
func compile(pattern string, ignoreCase bool) (*regexp.Regexp, error) {
	if len(pattern) > maxExpression {
		return nil, fmt.Errorf("is longer than %d bytes", maxExpression)
	}
	if ignoreCase {
		pattern = "(?i)" + pattern
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("is not a regular expression (RE2): %s", wording.Cut(err.Error(), 200))
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil || len(program.Inst) > maxProgram {
		return nil, errors.New("is too complex; repeat less")
	}
	return regexp.Compile(pattern)
}

// A grepSearch is one call.
type grepSearch struct {
	skill      *Skill
	args       grepArgs
	limit      int
	expression *regexp.Regexp
	in         *bufio.Reader
	left       int    // bytes that can still be read
	size       int    // of the result
	full       string // the limit that ends the search
	body       grepBody
}

// file searches a file and adds what it finds to the result.
func (g *grepSearch) file(ctx context.Context, name, shown string) error {
	file, err := g.skill.opts.Workspace.OpenFile(ctx, name)
	if err != nil {
		// A protected file is not counted: nothing may hint at it.
		if refused, ok := errors.AsType[*workspace.Error](err); ok && refused.Code != workspace.Protected && refused.Code != workspace.Interrupted {
			g.body.Skipped.Unreadable++
		}
		return err
	}
	defer file.Close()
	if file.Size > maxGrepFile {
		g.body.Skipped.Large++
		return &workspace.Error{Code: workspace.TooLarge, Message: fmt.Sprintf("%q is too large to be searched (%d bytes, at most %d)", wording.Cut(name, 200), file.Size, maxGrepFile)}
	}
	g.in.Reset(file)
	if head, _ := g.in.Peek(maxGrepLine); bytes.IndexByte(head, 0) >= 0 {
		g.left -= len(head)
		g.body.Skipped.Binary++
		return nil
	}
	found := grepFile{Path: clean(shown)}
	matches := g.body.Matches
	if err := g.lines(ctx, &found); err != nil && ctx.Err() == nil {
		g.body.Skipped.Unreadable++ // what was found before the error is kept
	}
	if g.body.Matches > matches {
		g.body.Files = append(g.body.Files, found)
	}
	return nil
}

// lines searches a file line by line, to its end or to a limit. Only what is shown decides: if the
// expression saw a secret, a search for each beginning of it would tell it.
func (g *grepSearch) lines(ctx context.Context, found *grepFile) error {
	var before []string // the lines since the last one that is shown, as many as are wanted
	after := 0          // lines to show behind the last match
	for number := int64(0); ; number++ {
		line, err := g.line()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case g.left < 0:
			g.full = fmt.Sprintf("more than %d bytes would have to be read; narrow the search", maxGrepRead)
			return nil
		}
		if !g.expression.MatchString(line) {
			if after > 0 {
				after--
				g.add(found, grepLine{Line: number, Text: g.text(line, false), Context: true})
			} else if g.args.Context > 0 && !g.args.FilesOnly {
				before = append(before[max(0, len(before)+1-g.args.Context):], line)
			}
			continue
		}
		if g.full = isFull(g.body.Matches, g.limit, g.size+len(found.Path)); g.full != "" {
			return nil
		}
		g.body.Matches++
		if g.args.FilesOnly {
			g.size += len(found.Path)
			return nil
		}
		for i, line := range before {
			g.add(found, grepLine{Line: number - int64(len(before)-i), Text: g.text(line, false), Context: true})
		}
		g.add(found, grepLine{Line: number, Text: g.text(line, true)})
		before, after = nil, g.args.Context
	}
}

func (g *grepSearch) add(found *grepFile, line grepLine) {
	g.size += len(line.Text) + len(`{"line":,"text":""},`)
	found.Lines = append(found.Lines, line)
}

// line reads the next line without its end and without secrets. Of a long line it returns the
// beginning.
func (g *grepSearch) line() (string, error) {
	line, err := g.in.ReadSlice('\n')
	g.left -= len(line)
	if err != nil && len(line) == 0 {
		return "", err
	}
	text := g.skill.opts.Redact(string(bytes.TrimRight(line, "\r\n")))
	if errors.Is(err, bufio.ErrBufferFull) {
		text = text[:max(0, len(text)-maxSecret)]
	}
	for errors.Is(err, bufio.ErrBufferFull) {
		var rest []byte
		rest, err = g.in.ReadSlice('\n')
		g.left -= len(rest)
	}
	return text, nil
}

// text returns what is shown of a line: its beginning, or the part around its first match.
func (g *grepSearch) text(line string, matches bool) string {
	text := clean(line)
	if len(text) <= shownLine {
		return text
	}
	from := 0
	if at := g.expression.FindStringIndex(text); matches && at != nil && at[1] > shownLine {
		from = max(0, at[0]-shownLine/4)
	}
	part := strings.ToValidUTF8(text[from:min(len(text), from+shownLine)], "")
	if from > 0 {
		part = "…" + part
	}
	if from+shownLine < len(text) {
		part += "…"
	}
	return part
}
