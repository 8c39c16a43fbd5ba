// Package modeltest holds the tests that the model of every provider must pass, and the
// providers themselves as tests reach them.
//
// A [Case] says nothing about a wire. What wires can and cannot do is in one table,
// [Traits]; a case that a wire cannot have is left out with a reason, and the table that
// [Run] prints shows it. Cases that are conversations, [Talk], are used twice: package
// test/wire holds the same ones against the official SDKs.
//
// Start reading at [Cases] and [Run].
package modeltest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit/llm"
)

// Cases are all promises, in the order of the table.
func Cases() []Case {
	return slices.Concat(wordCases(), thoughtCases(), callCases(), mediaCases(), usageCases(), requestCases(), otherModelCases(),
		statusCases(), brokenCases(), hostileCases(), lifeCases())
}

// Run checks every case with every subject, and logs a table of them. requests is told
// the requests of each conversation; it may be nil.
func Run(t *testing.T, subjects []*Subject, requests func(t *testing.T, s *Subject, c Case, all []llm.Recorded)) {
	var all Table
	for _, s := range subjects {
		for _, c := range Cases() {
			if why := c.SkipFor(s); why != "" {
				all.Skip(s.Name, c.Name, why)
				continue
			}
			all.Run(t, s.Name, c.Name, func(t *testing.T) {
				if c.Talk == nil {
					c.Check(t, s)
					return
				}
				heard := c.Talk(s.Traits).Hold(t, s)
				if requests != nil {
					requests(t, s, c, heard)
				}
			})
		}
	}
	t.Logf("every promise of a model, by provider\n%s", &all)
}

// SkipFor says why a subject cannot have the case; "" if it can.
func (c Case) SkipFor(s *Subject) string {
	if c.Skip == nil {
		return ""
	}
	return c.Skip(s.Traits)
}

// A Table says how each case went with each subject. The zero value is ready.
type Table struct {
	columns, rows []string
	values        map[[2]string]string
	notes         []string
}

// Run runs a check and writes down how it went.
func (a *Table) Run(t *testing.T, column, row string, check func(*testing.T)) {
	t.Helper()
	a.set(column, row, "not run")
	t.Run(column+"/"+row, func(t *testing.T) {
		a.set(column, row, "FAILED")
		check(t)
		if !t.Failed() {
			a.set(column, row, "ok")
		}
	})
}

// Skip writes down that a check cannot be made, and why.
func (a *Table) Skip(column, row, why string) {
	i := slices.Index(a.notes, why)
	if i < 0 {
		i = len(a.notes)
		a.notes = append(a.notes, why)
	}
	a.set(column, row, fmt.Sprintf("- %d", i+1))
}

func (a *Table) set(column, row, value string) {
	if a.values == nil {
		a.values = map[[2]string]string{}
	}
	if !slices.Contains(a.columns, column) {
		a.columns = append(a.columns, column)
	}
	if !slices.Contains(a.rows, row) {
		a.rows = append(a.rows, row)
	}
	a.values[[2]string{column, row}] = value
}

// String writes the columns' names one below the other, since they are longer than
// the values below them.
func (a *Table) String() string {
	var b strings.Builder
	for i, column := range a.columns {
		fmt.Fprintf(&b, "  %2d  %s\n", i+1, column)
	}
	fmt.Fprintf(&b, "  %-40s", "")
	for i := range a.columns {
		fmt.Fprintf(&b, " %-6d", i+1)
	}
	b.WriteString("\n")
	for _, row := range a.rows {
		fmt.Fprintf(&b, "  %-40s", row)
		for _, column := range a.columns {
			value := a.values[[2]string{column, row}]
			if value == "" {
				value = "."
			}
			fmt.Fprintf(&b, " %-6s", value)
		}
		b.WriteString("\n")
	}
	for i, note := range a.notes {
		fmt.Fprintf(&b, "  - %d  %s\n", i+1, note)
	}
	return b.String()
}
