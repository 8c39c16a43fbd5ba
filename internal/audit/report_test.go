package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/internal/testkit"
)

var noon = time.Date(2026, 11, 17, 12, 0, 0, 0, time.UTC)

func always(r Result) func(context.Context) Result {
	return func(context.Context) Result { return r }
}

// somePromises has one of each outcome.
func somePromises() []Promise {
	return []Promise{
		{ID: "E1", Area: "Environment", Text: "A skill gets safe variables only.", Severity: High, Test: "internal/sandbox.TestServerEnvironment", Probe: always(Hold(BuiltIn, "12 variables were set"))},
		{ID: "E3", Area: "Environment", Text: "NODE_PATH is not passed on.", Severity: High, Test: "internal/sandbox.TestEnvironmentSafe", Probe: always(Break(BuiltIn, "it was passed on"))},
		{ID: "W6", Area: "Trust", Text: "An approval is for one call.", Severity: High, Test: "internal/sandbox.TestEnvironmentSafe", WhyNot: "approvals do not exist yet"},
	}
}

const hostile = "evil](javascript:x) <script>|`*_ https://x.example www.x.example a@b\x1b[2J\u202eabc\n# heading"

func someReport(t *testing.T, earlier *Earlier) *Report {
	t.Helper()
	promises := somePromises()
	claims, err := Run(t.Context(), promises, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return NewReport(Input{
		Time: noon, Versions: []Version{{"perstack", "0.1.0"}, {"kernel", hostile}},
		Claims: claims, Earlier: earlier,
		Findings: append(Findings(promises, claims, "0.1.0"),
			NewFinding(WildcardDomain, "pkg", hostile, "Skill "+hostile, "allowedDomains", "a", "b"),
			NewFinding(MissingLimits, "pkg", "Expert a", "No limits.", "", "a")),
	})
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v, jsontext.WithIndent("  "))
	if err != nil {
		t.Fatal(err)
	}
	return string(data) + "\n"
}

func TestReport(t *testing.T) {
	r := someReport(t, nil)
	testkit.Golden(t, "report.md", r.Markdown())
	testkit.Golden(t, "report.txt", r.Text())
	testkit.Golden(t, "report.json", marshal(t, r))
	testkit.Golden(t, "report.sarif", marshal(t, r.Sarif("0.1.0")))
	if r.Verdict.Ready != No || len(r.Serious()) != 1 || r.Serious()[0].ID != "SEC-003" {
		t.Errorf("the verdict is %v, with %v", r.Verdict, r.Serious())
	}
}

// What the report says of hostile text shows it and obeys none of it.
func TestHostileText(t *testing.T) {
	r := someReport(t, nil)
	for name, text := range map[string]string{"markdown": r.Markdown(), "text": r.Text()} {
		if strings.ContainsAny(text, "\x1b\u202e") {
			t.Errorf("%s contains control characters", name)
		}
	}
	for _, line := range strings.Split(r.Markdown(), "\n") {
		for _, bad := range []string{"<script", "https://x", " www.x", "](j", "# heading"} {
			at := strings.Index(line, bad)
			if at >= 0 && (at == 0 || line[at-1] != '\\') {
				t.Errorf("%q is in %q", bad, line)
			}
		}
	}
}

func TestBlockCannotBeEnded(t *testing.T) {
	m := &markdown{}
	m.block("a\n```\n# b\n````\n")
	if got := m.String(); !strings.HasPrefix(got, "`````text\n") || !strings.HasSuffix(got, "\n`````\n") {
		t.Errorf("got %q", got)
	}
}

// A finding keeps its id, its time and what was decided about it.
func TestProgress(t *testing.T) {
	first := someReport(t, nil)
	first.Time = "2026-11-01T00:00:00Z"
	for i := range first.Findings {
		first.Findings[i].Since = "2026-10-01T00:00:00Z"
		if first.Findings[i].Kind == WildcardDomain {
			first.Findings[i].Status = Acknowledged
		}
	}
	extra := NewFinding(HiddenText, "p", "l", "d", "", "gone")
	extra.ID, extra.Since = "SEC-010", "2026-10-02T00:00:00Z"
	unchecked := Finding{ID: "SEC-806", Kind: "promise-W6", Fingerprint: fingerprint("promise-W6"), Severity: High, Status: Open, Since: "2026-10-03T00:00:00Z"}
	first.Findings = append(first.Findings, extra, unchecked)
	if err := first.check(); err != nil {
		t.Fatal(err)
	}

	r := someReport(t, &Earlier{File: "old.json", Report: first})
	byKind := map[string]Finding{}
	for _, f := range r.Findings {
		byKind[f.Kind] = f
	}
	if f := byKind[WildcardDomain]; f.Status != Acknowledged || f.Since != "2026-10-01T00:00:00Z" || f.ID != "SEC-008" {
		t.Errorf("the acknowledged finding is %+v", f)
	}
	if f := byKind[HiddenText]; f.Status != Fixed || f.ID != "SEC-010" {
		t.Errorf("the fixed finding is %+v", f)
	}
	if f := byKind["promise-W6"]; f.Status != Open || !strings.Contains(f.Note, "Not checked again") {
		t.Errorf("the finding that was not checked is %+v", f)
	}
	if want := []string{"SEC-010"}; !slices.Equal(r.Progress.Fixed, want) || len(r.Progress.New) != 0 {
		t.Errorf("progress is %+v", r.Progress)
	}
	if high := r.Progress.Counts[1]; high.Previous != 3 || high.Current != 2 || high.Change != -1 {
		t.Errorf("counts are %+v", high)
	}
}

func TestNumbers(t *testing.T) {
	seen := map[int]string{}
	for _, letters := range "NKEXFSRGATLW" {
		for i := 1; i <= 19; i++ {
			kind := brokenPromise + string(letters) + strings.TrimLeft(formatID(i)[4:], "0")
			n := numberOf(kind)
			if n == 0 || seen[n] != "" {
				t.Errorf("%s has the number %d, like %s", kind, n, seen[n])
			}
			seen[n] = kind
		}
	}
	// The numbers of new findings jump over those that are reserved.
	var many []Finding
	for i := range 150 {
		many = append(many, NewFinding(HiddenText, "", "", "", "", formatID(i+1)))
	}
	number(many, nil)
	if many[0].ID != "SEC-008" || many[91].ID != "SEC-099" || many[92].ID != "SEC-1000" {
		t.Errorf("got %s, %s, %s", many[0].ID, many[91].ID, many[92].ID)
	}
}

func TestVerdict(t *testing.T) {
	held := Claim{ID: "E1", Status: Verified}
	low := NewFinding(MissingLimits, "", "", "", "", "x")
	for name, c := range map[string]struct {
		in   Input
		want Ready
	}{
		"all verified":        {Input{Claims: []Claim{held}}, Yes},
		"one not available":   {Input{Claims: []Claim{held, {ID: "N1", Status: Unavailable}}}, Conditional},
		"nothing verified":    {Input{Claims: []Claim{{ID: "N1", Status: Unavailable}}}, No},
		"no claims":           {Input{}, No},
		"an Expert without":   {Input{Subject: Subject{Expert: "a"}}, Yes},
		"an Expert with Low":  {Input{Subject: Subject{Expert: "a"}, Findings: []Finding{low}}, Conditional},
		"an Expert with High": {Input{Subject: Subject{Expert: "a"}, Findings: []Finding{NewFinding(HiddenText, "", "", "", "", "x")}}, No},
	} {
		c.in.Time = noon
		if got := NewReport(c.in).Verdict; got.Ready != c.want {
			t.Errorf("%s: got %v, wanted %s", name, got, c.want)
		}
	}
}

func TestFindEarlier(t *testing.T) {
	dir := t.TempDir()
	write := func(at time.Time, r *Report) {
		_, name := FileNames(at)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(marshal(t, r)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := FindEarlier(filepath.Join(dir, "missing"), noon, Subject{}); got != nil || err != nil {
		t.Errorf("without a directory: %v, %v", got, err)
	}
	mine, other := someReport(t, nil), someReport(t, nil)
	other.Subject.Expert = "b"
	write(noon.Add(-3*time.Hour), mine)
	write(noon.Add(-2*time.Hour), mine)
	write(noon.Add(-time.Hour), other)
	write(noon.Add(time.Hour), mine) // from the future
	got, err := FindEarlier(dir, noon, Subject{})
	if err != nil || got.File != "2026-11-17T10-00-00_audit_report.json" {
		t.Fatalf("got %v, %v", got, err)
	}
	_, broken := FileNames(noon.Add(-time.Minute))
	if err := os.WriteFile(filepath.Join(dir, broken), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := FindEarlier(dir, noon, Subject{}); err == nil || !strings.Contains(err.Error(), "format 0") {
		t.Errorf("a broken report: %v", err)
	}
}

func TestParseReportRefuses(t *testing.T) {
	good := marshal(t, someReport(t, nil))
	if _, err := ParseReport([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string][2]string{
		"unknown member":      {`"format": 1,`, `"format": 1, "more": 1,`},
		"member twice":        {`"format": 1,`, `"format": 1, "format": 1,`},
		"other format":        {`"format": 1,`, `"format": 2,`},
		"no time":             {`"time": "2026-11-17T12:00:00Z"`, `"time": "today"`},
		"bad id":              {`"id": "SEC-008"`, `"id": "SEC-8"`},
		"id of a promise":     {`"id": "SEC-008"`, `"id": "SEC-301"`},
		"promise without id":  {`"id": "SEC-003",`, `"id": "SEC-011",`},
		"same id twice":       {`"id": "SEC-009"`, `"id": "SEC-008"`},
		"bad severity":        {`"severity": "Low",` + "\n      \"title\"", `"severity": "Harmless",` + "\n      \"title\""},
		"bad status":          {`"status": "Open"`, `"status": "Gone"`},
		"bad fingerprint":     {`"fingerprint": "`, `"fingerprint": "x`},
		"too long a text":     {`"No limits."`, `"` + strings.Repeat("x", maxText+1) + `"`},
		"not JSON":            {`{`, `[`},
		"time of the finding": {`"since": "2026-11-17T12:00:00Z"`, `"since": "x"`},
	} {
		text := strings.Replace(good, change[0], change[1], 1)
		if text == good {
			t.Errorf("%s: nothing was changed", name)
		} else if _, err := ParseReport([]byte(text)); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	if _, err := ParseReport(bytes.Repeat([]byte(" "), maxReport+1)); err == nil {
		t.Error("a report without end was accepted")
	}
}

// What was read can be carried over, and the result can be read again.
func FuzzParseReport(f *testing.F) {
	if data, err := os.ReadFile(filepath.Join("testdata", "report.json")); err == nil {
		f.Add(data)
	}
	f.Add([]byte(`{"format":1,"time":"2026-11-17T12:00:00Z","findings":[]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := ParseReport(data)
		if err != nil {
			return
		}
		next := NewReport(Input{Time: noon, Earlier: &Earlier{"x", r}, Findings: []Finding{NewFinding(HiddenText, "", "", "", "", "x")}})
		again, err := json.Marshal(next)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseReport(again); err != nil && len(again) < maxReport {
			t.Fatalf("%v\n%s", err, again)
		}
		if text := next.Markdown() + next.Text(); strings.ContainsRune(text, '\x1b') {
			t.Fatalf("%q", text)
		}
	})
}

func TestRun(t *testing.T) {
	var told []string
	_, err := Run(t.Context(), somePromises(), Options{Parallel: 1, Progress: func(done, of int, testing []string) {
		told = append(told, fmt.Sprint(done, "/", of, len(testing)))
	}})
	if want := []string{"0/3 1", "1/3 0", "1/3 1", "2/3 0", "2/3 1", "3/3 0"}; err != nil || !slices.Equal(told, want) {
		t.Errorf("told %q, %v", told, err)
	}

	// A probe that never ends fails, and one without a result proves nothing.
	stuck := make(chan struct{})
	defer close(stuck)
	claims, err := Run(t.Context(), []Promise{
		{ID: "F1", Probe: func(context.Context) Result { <-stuck; return Result{} }},
		{ID: "F2", Probe: always(Result{})},
	}, Options{Timeout: time.Millisecond})
	if err != nil || claims[0].Status != Failed || claims[1].Status != Unavailable {
		t.Errorf("got %+v, %v", claims, err)
	}

	// A stopped audit reports nothing.
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	_, err = Run(ctx, []Promise{{ID: "F1", Probe: func(context.Context) Result { cancel(stopped); return Hold("", "") }}}, Options{})
	if !errors.Is(err, stopped) {
		t.Errorf("got %v", err)
	}
}

// A reason that several promises share is printed once.
func TestSameReason(t *testing.T) {
	skipped := func(id, why string) Promise { return Promise{ID: id, Area: "Container", Text: "x", WhyNot: why} }
	claims, err := Run(t.Context(), []Promise{skipped("K1", "no daemon"), skipped("K2", "no daemon"), skipped("K3", "another")}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	text := NewReport(Input{Claims: claims}).Text()
	if strings.Count(text, "no daemon") != 1 || !strings.Contains(text, "K2 not available here: x\n  for the same reason as K1\n") || !strings.Contains(text, "could not be checked on this machine: K1, K2 and K3") {
		t.Error(text)
	}
}
