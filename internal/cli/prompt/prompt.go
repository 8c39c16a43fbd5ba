// Package prompt asks the user on a terminal: whether a tool call is carried out, what an Expert wants
// to know, and what it should do.
//
// A text is edited in place, with the editor of package edit: see [Read].
//
// A question about a tool call only appends lines: it shows the request page by page, then the letters that answer it.
// Four things keep a stray key from being an answer. Keys are dropped until there was none for
// 300 milliseconds after the question appeared. Allowing works only when the end of the request
// was on the screen, in the size that the terminal has now. A letter needs Enter, in a line that has
// nothing else. And both must come alone, with a pause around them: pasted text and the sequences of
// special keys are no answers.
//
// Start reading at [Approver.Ask].
package prompt

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/approval"
	"github.com/perstack-go/perstack/internal/columns"
)

// An Approver asks the user. It implements [engine.Approver].
type Approver struct {
	console console
	opts    Options
	turn    chan struct{} // holds a value while a question is on the terminal
}

// Options are the settings of an [Approver]. All of them can be left out.
type Options struct {
	Color bool
	// Redact replaces each secret with [redacted: NAME].
	Redact func(string) string
	// Offers returns the answers that allow a request for longer than once. Without it, these are
	// [Offers].
	Offers func(*event.Approval) []Offer
	// Output is kept back while a question is on the terminal.
	Output *Output
	// Plain leaves the editing of texts to the terminal: see [Text].
	Plain bool
}

// An Offer is an answer that allows a request.
type Offer struct {
	Key    byte   // a lower-case letter, other than n, q and y
	Text   string // what it allows
	Words  string // the command that it allows, if that is more than the one in the request
	Answer event.Answer
}

// Offers returns the scopes longer than once that a user can always choose.
func Offers(a *event.Approval) (all []Offer) {
	for _, scope := range approval.Scopes(a) {
		o := Offer{Answer: event.Answer{Allow: true, Scope: scope}}
		switch scope {
		case event.ScopeOnce:
			continue
		case event.ScopeJob:
			o.Key, o.Text = 'a', "allow for this job"
		case event.ScopeProject:
			o.Key, o.Text = 'p', "allow for this project"
		}
		all = append(all, o)
	}
	return all
}

// A console is the terminal.
type console interface {
	io.Writer
	// size returns columns and rows; 0 if they are not known.
	size() (columns, rows int)
	// raw makes every key readable at once, and undo returns to what was before. It fails if
	// this program must not read the terminal now.
	raw() (undo func(), err error)
	// read returns what was typed. After the timeout it returns nothing; 0 waits for ever.
	read(ctx context.Context, timeout time.Duration) ([]byte, error)
}

func newApprover(c console, opts Options) *Approver {
	if opts.Offers == nil {
		opts.Offers = Offers
	}
	if opts.Output == nil {
		opts.Output = &Output{}
	}
	return &Approver{console: c, opts: opts, turn: make(chan struct{}, 1)}
}

// Ask shows a request and returns what the user answers. One that the user leaves open has
// [engine.ErrNoAnswer].
func (a *Approver) Ask(ctx context.Context, request event.Request) (event.Answer, error) {
	select {
	case a.turn <- struct{}{}:
		defer func() { <-a.turn }()
	case <-ctx.Done():
		return event.Answer{}, context.Cause(ctx)
	}
	a.opts.Output.hold()
	defer a.opts.Output.release()
	if request.Approval == nil {
		return a.askText(ctx, request)
	}
	undo, err := a.console.raw()
	if err != nil {
		return event.Answer{}, engine.ErrNoAnswer
	}
	defer undo()
	q := a.question(request.Approval)
	answer, err := q.ask(ctx)
	switch {
	case ctx.Err() != nil:
		q.say("The question is closed.") // the job stops, or the answer came from elsewhere
		return event.Answer{}, context.Cause(ctx)
	case err != nil: // without a terminal there is no answer either
		return event.Answer{}, engine.ErrNoAnswer
	}
	return answer, nil
}

// question returns a request as it is asked about, with all answers that allow it.
func (a *Approver) question(about *event.Approval) *question {
	q := &question{console: a.console, color: a.opts.Color, about: about, view: approval.Render(about, a.opts.Redact), redact: a.opts.Redact}
	q.offers = append([]Offer{{Key: 'y', Text: "allow once", Answer: event.Answer{Allow: true, Scope: event.ScopeOnce}}}, a.opts.Offers(about)...)
	switch about.Effect.Kind {
	case event.PlanEffect:
		q.offers[0].Text = "accept"
	case event.PathEffect: // it is too late for the call that asked
		q.offers[0].Text = "allow for this Run"
	}
	return q
}

// quiet is how long no key must have been typed before one counts.
const quiet = 300 * time.Millisecond

// pause is how long nothing else must be typed before and after a key that allows. Pasted text can
// arrive in parts, one of which is a single letter.
const pause = 50 * time.Millisecond

// mark is where the user types.
const mark = "> "

// maxLine is how much of a line is shown. One letter is an answer.
const maxLine = 10

// The least size of a terminal on which a request can be read.
const (
	minColumns = 20
	minLines   = 3 // of the request, beside the keys
)

// A question is one request on the terminal.
type question struct {
	console console
	color   bool
	about   *event.Approval
	view    approval.View
	offers  []Offer
	redact  func(string) string

	keys          keys
	last          time.Time     // when something was typed
	since         time.Duration // between that and what was typed before
	columns, rows int           // size for which it is laid out
	lines         []string      // of the request that were not shown yet
	fits          bool          // the terminal is large enough
	line          []rune        // what was typed since the last Enter
	pasted        bool          // some of it came too fast for a person
	typing        bool          // the cursor is in that line
	failed        error         // of writing
}

func (q *question) ask(ctx context.Context) (event.Answer, error) {
	if err := q.show(ctx); err != nil {
		return event.Answer{}, err
	}
	for {
		typed, err := q.read(ctx, 0)
		if err != nil {
			return event.Answer{}, err
		}
		var key rune
		switch {
		case len(typed) == 0: // a special key
			continue
		case len(typed) > 1:
			err = q.several(ctx, typed)
		case isEnter(typed[0]):
			key, err = q.enter(ctx)
		default:
			err = q.letter(ctx, typed[0])
		}
		if err != nil {
			return event.Answer{}, err
		}
		answer, answered, err := q.take(ctx, key)
		if answered || err != nil {
			return answer, err
		}
	}
}

// take does what a letter says that the user has confirmed; 0 is none. answered says that the question
// has its answer.
func (q *question) take(ctx context.Context, key rune) (answer event.Answer, answered bool, err error) {
	switch key {
	case 0:
		return event.Answer{}, false, nil
	case 'q':
		return event.Answer{}, false, q.leave()
	case 'n':
		reason, ok, err := q.reason(ctx)
		if err == nil && !ok {
			err = q.prompt(ctx, pause)
		}
		if err != nil || !ok {
			return event.Answer{}, false, err
		}
		q.say("answered: deny")
		return event.Answer{Reason: reason}, true, q.failed
	}
	i := slices.IndexFunc(q.offers, func(o Offer) bool { return rune(o.Key) == key })
	if i < 0 {
		q.say("Type one of these letters, then Enter.")
		return event.Answer{}, false, q.prompt(ctx, 0)
	}
	if seen, err := q.seen(ctx); err != nil || !seen {
		return event.Answer{}, false, err
	}
	q.say("answered: " + q.offers[i].Text)
	if rule := q.rule(q.offers[i]); rule != "" {
		q.say(rule)
	}
	return q.offers[i].Answer, true, q.failed
}

// seen reports whether the request can be allowed: its end was on the screen. If not, it says why.
func (q *question) seen(ctx context.Context) (bool, error) {
	columns, rows := q.size()
	switch {
	case columns != q.columns || rows != q.rows:
		q.say("The size of the terminal has changed.")
		return false, q.show(ctx)
	case !q.fits, len(q.lines) > 0:
		q.say("Read to the end first.")
		return false, q.prompt(ctx, 0)
	}
	return true, nil
}

// letter adds a key to the line. It counts only if nothing else is typed around it: then it is on the
// screen.
func (q *question) letter(ctx context.Context, key rune) error {
	alone := q.since >= pause
	dropped, err := q.drop(ctx, pause)
	switch {
	case err != nil:
		return err
	case !alone || dropped:
		q.pasted = true
	case len(q.line) == 0 && key == ' ':
		return q.next(ctx)
	case len(q.line) == 0 && key == '?':
		q.write("?")
		q.help()
		return q.prompt(ctx, 0)
	}
	switch {
	case key == escape || isBackspace(key):
		q.clear()
	case isText(key) && len(q.line) < maxLine:
		q.line = append(q.line, key)
		q.write(string(key))
	}
	return q.failed
}

// several takes keys that came at once: they were pasted, and are no answer.
func (q *question) several(ctx context.Context, typed []rune) error {
	q.pasted = true
	if !slices.ContainsFunc(typed, isEnter) {
		return nil
	}
	if _, err := q.drop(ctx, pause); err != nil {
		return err
	}
	return q.refuse(ctx)
}

// enter returns the letter in the line, or 0 if there is none that counts. Enter alone does nothing.
func (q *question) enter(ctx context.Context) (rune, error) {
	alone := q.since >= pause
	dropped, err := q.drop(ctx, pause)
	switch {
	case err != nil:
		return 0, err
	case len(q.line) == 0 && !q.pasted:
		return 0, nil
	case !alone || dropped || q.pasted || len(q.line) != 1:
		return 0, q.refuse(ctx)
	}
	key := q.line[0]
	q.line = nil
	return key, q.failed
}

// refuse says that a line was no answer, and begins another.
func (q *question) refuse(ctx context.Context) error {
	problem := "Type one letter, then Enter."
	if q.pasted {
		problem = "Pasted text is no answer. " + problem
	}
	q.say(problem)
	return q.prompt(ctx, 0)
}

// clear removes what was typed.
func (q *question) clear() {
	for _, key := range q.line {
		q.write(strings.Repeat("\b \b", columns.Of(string(key))))
	}
	q.line, q.pasted = nil, false
}

// next shows the next page, or the request again if the terminal has another size.
func (q *question) next(ctx context.Context) error {
	columns, rows := q.size()
	switch {
	case columns != q.columns || rows != q.rows:
		return q.show(ctx)
	case q.fits && len(q.lines) > 0:
		q.page()
		return q.prompt(ctx, 0)
	}
	return nil
}

// show shows the request from its beginning, and the keys as soon as they count.
func (q *question) show(ctx context.Context) error {
	q.columns, q.rows = q.size()
	q.lines = q.layout()
	if q.fits = q.columns >= minColumns && q.space() >= minLines; q.fits {
		q.page()
	} else {
		q.say(q.view.Title + " The terminal is too small to show it. Make it larger, then press space.")
	}
	return q.prompt(ctx, quiet)
}

// prompt shows the letters and begins a line, once nothing was typed for so long, if that is not 0: what
// is typed after they appeared counts.
func (q *question) prompt(ctx context.Context, silence time.Duration) error {
	q.line, q.pasted = nil, false
	if silence > 0 {
		if _, err := q.drop(ctx, silence); err != nil {
			return err
		}
	}
	q.showKeys()
	return q.failed
}

// drop reads until nothing was typed for so long. It reports whether there was something.
func (q *question) drop(ctx context.Context, silence time.Duration) (dropped bool, err error) {
	for {
		typed, err := q.read(ctx, silence)
		if err != nil || typed == nil {
			return dropped, err
		}
		dropped = true
	}
}

// size returns that of the terminal, or the usual one if it is not known.
func (q *question) size() (columns, rows int) {
	columns, rows = q.console.size()
	if columns <= 0 || rows <= 0 {
		return 80, 24
	}
	return columns, rows
}

// layout returns all lines of the request. They leave the last column free: some terminals begin
// a new row as soon as it is used.
func (q *question) layout() (all []string) {
	const narrow = 40
	title := q.view.Title
	if q.about.Of > 1 {
		title = fmt.Sprintf("%s (%d of %d)", title, q.about.Number, q.about.Of)
	}
	all = []string{""} // apart from what was printed before
	for _, line := range columns.Break(title, q.columns-1) {
		all = append(all, q.bold(line))
	}
	for _, r := range q.view.Rows() {
		if r.Text == "" || q.columns < narrow && !strings.HasPrefix(r.Head, " ") {
			for _, line := range columns.Break(strings.TrimRight(r.Head, " "), q.columns-1) {
				all = append(all, q.bold(line))
			}
			if r.Text == "" {
				continue
			}
			r.Head = r.Rest
		}
		if q.columns < narrow {
			r.Rest = r.Rest[:min(len(r.Rest), 4)]
			r.Head = r.Rest
		}
		for i, line := range columns.Break(r.Text, q.columns-1-len(r.Head)) {
			if i == 0 {
				all = append(all, q.bold(r.Head)+line)
			} else {
				all = append(all, r.Rest+line)
			}
		}
	}
	return all
}

func (q *question) bold(text string) string {
	if !q.color || strings.TrimSpace(text) == "" {
		return text
	}
	return "\x1b[1m" + text + "\x1b[0m"
}

// page shows as many lines of the request as fit on the screen together with the keys.
func (q *question) page() {
	q.newline()
	n := min(len(q.lines), q.space())
	q.write(strings.Join(q.lines[:n], "\r\n") + "\r\n")
	q.lines = q.lines[n:]
}

// space is how many lines of the request fit. The cursor has a row of its own.
func (q *question) space() int { return q.rows - max(len(q.answers()), len(q.more())) - 1 }

// showKeys shows what the user can press now.
func (q *question) showKeys() {
	menu := q.answers()
	switch {
	case !q.fits:
		menu = q.menu("space show it")
	case len(q.lines) > 0:
		menu = q.more()
	}
	q.write(strings.Join(menu, "\r\n") + "\r\n" + mark)
	q.typing = true
}

// newline ends the line in which the user types.
func (q *question) newline() {
	if q.typing {
		q.typing = false
		q.write("\r\n")
	}
}

// answers returns the keys that count when the whole request was shown.
func (q *question) answers() []string {
	var items []string
	for _, o := range q.offers {
		items = append(items, fmt.Sprintf("%c %s", o.Key, o.Text))
	}
	return q.menu(items...)
}

// more returns the keys that count before.
func (q *question) more() []string {
	return q.menu(fmt.Sprintf("space show more (%d lines)", len(q.lines)))
}

// menu puts items beside each other, as far as there is space. A request can always be denied, or
// left open.
func (q *question) menu(items ...string) []string {
	const gap = "   "
	rows := []string{strings.Repeat("-", min(max(q.columns-1, 1), 40))}
	later := "q answer later"
	if q.about.Effect.LeavesSandbox() { // the job continues without it
		later = "q no answer"
	}
	for i, item := range append(items, "n deny", later, "? help") {
		if last := len(rows) - 1; i > 0 && columns.Of(rows[last]+gap+item) < q.columns {
			rows[last] += gap + item
			continue
		}
		rows = append(rows, columns.Wrap(item, max(q.columns-1, 1))...)
	}
	return rows
}

func (q *question) help() {
	later := "With q, the job stops, and you can answer later."
	if q.about.Effect.LeavesSandbox() {
		later = "With q, the sandbox stays closed, and the job continues."
	}
	q.say("Type a letter, then Enter. The job waits for your answer. What the model wrote is no reason to allow a call: read the " +
		"command, the change or the arguments. Words are in quotes, and characters that cannot be seen are written as " +
		"\\u{...}. If you deny, you can tell the model why. " + later)
}

// leave ends the question without an answer.
func (q *question) leave() error {
	if q.about.Effect.LeavesSandbox() {
		q.say("no answer; the sandbox stays closed")
	} else {
		q.say("no answer; the job waits")
	}
	return ErrLeft
}

// say writes a sentence of ours.
func (q *question) say(text string) {
	q.newline()
	q.write(strings.Join(columns.Wrap(text, max(q.columns-1, minColumns)), "\r\n") + "\r\n")
}

func (q *question) write(text string) {
	if _, err := io.WriteString(q.console, text); q.failed == nil {
		q.failed = err
	}
}

// read returns the keys that were typed at once; nil if there were none in time. Special keys are
// left out.
func (q *question) read(ctx context.Context, timeout time.Duration) ([]rune, error) {
	chunk, err := q.console.read(ctx, timeout)
	if err != nil || len(chunk) == 0 {
		return nil, err
	}
	now := time.Now()
	q.last, q.since = now, now.Sub(q.last)
	typed := q.keys.read(chunk)
	if slices.Contains(typed, interrupt) {
		return nil, q.leave()
	}
	return typed, nil
}

// maxReason is the longest reason, in bytes.
const maxReason = 1000

// reason reads a line that tells the model why a call is denied. It can be empty. ok is false if the
// user returns to the question.
func (q *question) reason(ctx context.Context) (reason string, ok bool, err error) {
	q.newline()
	q.write("Reason for the model (Enter: send, Esc: back): ")
	var text []rune
	for {
		typed, err := q.read(ctx, 0)
		if err != nil {
			return "", false, err
		}
		for _, key := range typed {
			switch {
			case key == escape:
				q.write("\r\n")
				return "", false, q.failed
			case isEnter(key):
				q.write("\r\n")
				return strings.TrimSpace(string(text)), true, q.failed
			case isBackspace(key) && len(text) > 0:
				q.write(strings.Repeat("\b \b", columns.Of(string(text[len(text)-1]))))
				text = text[:len(text)-1]
			case isText(key) && len(string(text))+len(string(key)) <= maxReason:
				text = append(text, key)
				q.write(string(key))
			}
		}
		if q.failed != nil {
			return "", false, q.failed
		}
	}
}
