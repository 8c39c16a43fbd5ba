package history

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/memory"
)

func TestMatch(t *testing.T) {
	var many []string
	for i := range 25 {
		many = append(many, fmt.Sprintf("same-%02d", i))
	}
	for _, test := range []struct {
		text string
		ids  []string
		want string // the id, or the error
	}{
		{"abcd", []string{"abcdef", "xyz"}, "abcdef"},
		{"abcd", []string{"abcdef", "abcd", "abcdgh"}, "abcd"}, // a whole id is never ambiguous
		{"a", []string{"abcdef", "a"}, "a"},
		{"abcdef", []string{"abcdef", "abcdef"}, "abcdef"},
		{"abcd", []string{"abcdef", "abcdef"}, "abcdef"}, // one run can have several starts
		{"abc", []string{"abcdef"}, `"abc" is too short to name a run; write at least 4 characters of its id, or the whole id`},
		{"abc", []string{"abcdef", "abcxyz"}, `"abc" is too short to name a run; write at least 4 characters of its id, or the whole id`},
		{"zz", []string{"abcdef"}, "there is no run zz"},
		{"abcx", []string{"abcdef"}, "there is no run abcx"},
		{"abcdefg", []string{"abcdef"}, "there is no run abcdefg"},
		{"ABCD", []string{"abcdef"}, "there is no run ABCD"},
		{"", []string{"abcdef"}, "there is no run "},
		{"abcd", []string{"abcdz", "abcdef"}, "several runs begin with abcd: abcdef abcdz; write more of the id"},
		{"same", many, "several runs begin with same: " + strings.Join(many[:10], " ") + " and 15 more; write more of the id"},
	} {
		got, err := Match(RunID, test.text, slices.Values(test.ids))
		if err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%q in %q: %s, want %s", test.text, test.ids, got, test.want)
		}
	}
}

// silent is a store whose journals must not be read.
type silent struct {
	store.Store
	ids []string
	t   *testing.T
}

func (s silent) JobIDs(context.Context) ([]string, error) { return s.ids, nil }

func (s silent) Jobs(context.Context) iter.Seq2[store.JobInfo, error] {
	s.t.Error("the jobs are read")
	return func(func(store.JobInfo, error) bool) {}
}

// A job is found by its name: with 10,000 jobs, reading them would take too long.
func TestJobReadsNoJournal(t *testing.T) {
	s := silent{ids: []string{"abcdef", "abcxyz"}, t: t}
	for text, want := range map[string]string{"abcd": "abcdef", "abcxyz": "abcxyz"} {
		if id, err := Job(t.Context(), s, text); id != want || err != nil {
			t.Errorf("%s: %s, %v", text, id, err)
		}
	}
	if _, err := Job(t.Context(), s, "nope"); !errors.Is(err, store.ErrNotFound) {
		t.Error(err)
	}
	if _, err := Job(t.Context(), s, "../abc"); !errors.Is(err, store.ErrBadID) {
		t.Error(err)
	}
}

// record appends the events of a run with two checkpoints, of which only the first is reached.
func record(t *testing.T, s store.Store, jobID, runID, first, second string) {
	t.Helper()
	j, err := s.Open(t.Context(), jobID)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range []event.Body{event.StartRun{CheckpointID: first}, event.ContinueToNextStep{NextCheckpointID: second}} {
		if _, err := j.Append(t.Context(), event.Event{ID: "e" + first, JobID: jobID, RunID: runID, ExpertKey: "a", StepNumber: 1, Timestamp: 1, Body: b}); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestFind(t *testing.T) {
	s := memory.New()
	record(t, s, "job1", "run-one", "check-aa", "check-ab")
	record(t, s, "job2", "run-two", "check-ba", "check-bb")
	for _, test := range []struct {
		kind      Kind
		job, text string
		want      string
	}{
		{RunID, "", "run-o", "job1 run-one"},
		{RunID, "job2", "run-", "job2 run-two"},
		{RunID, "job2", "run-o", "there is no run run-o of job job2"},
		{RunID, "", "run-", "several runs begin with run-: run-one run-two; write more of the id"},
		{CheckpointID, "", "check-b", "job2 check-ba"},
		{CheckpointID, "", "check-bb", "there is no checkpoint check-bb"}, // no step has ended there
		{CheckpointID, "", "check", "several checkpoints begin with check: check-aa check-ba; write more of the id"},
		{CheckpointID, "job1", "check", "job1 check-aa"},
	} {
		in, id, err := Find(t.Context(), s, test.kind, test.job, test.text)
		got := in + " " + id
		if err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s %q in %q: %s, want %s", test.kind, test.text, test.job, got, test.want)
		}
	}
}

// A job is named as briefly as it is found.
func TestPrefix(t *testing.T) {
	s := silent{ids: []string{"abcdefgh", "abcdxyz", "zzzz1", "ab"}}
	for id, want := range map[string]string{"abcdefgh": "abcde", "abcdxyz": "abcdx", "zzzz1": "zzzz", "ab": "ab"} {
		got, err := Prefix(t.Context(), s, id)
		if err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", id, got, err, want)
		}
		if found, err := Job(t.Context(), s, got); err != nil || found != id {
			t.Errorf("%s names %q, %v", got, found, err)
		}
	}
}
