package audit

import (
	"maps"
	"net/url"
	"path/filepath"
	"slices"

	"github.com/perstack-go/perstack/internal/terminal"
)

// A Sarif is a report in the format SARIF 2.1.0 of OASIS, which code-scanning tools read. It has
// the findings that are not fixed.
type Sarif struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool       sarifTool        `json:"tool"`
	Results    []sarifResult    `json:"results"`
	Properties Verdict          `json:"properties"`
	Invocation []sarifExecution `json:"invocations"`
}

type sarifExecution struct {
	Successful bool   `json:"executionSuccessful"`
	EndTime    string `json:"endTimeUtc"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name    string      `json:"name"`
	Version string      `json:"version"`
	Rules   []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID         string            `json:"id"`
	Short      sarifText         `json:"shortDescription"`
	Help       sarifText         `json:"help"`
	Properties map[string]string `json:"properties"`
}

type sarifText struct {
	Text string `json:"text"`
}

type sarifResult struct {
	Rule         string             `json:"ruleId"`
	Level        string             `json:"level"`
	Message      sarifText          `json:"message"`
	Locations    []sarifLocation    `json:"locations"`
	Fingerprints map[string]string  `json:"partialFingerprints"`
	Suppressions []sarifSuppression `json:"suppressions,omitempty"`
	Properties   sarifDetails       `json:"properties"`
}

// Structs, not maps: the JSON of a map has no fixed order.
type sarifSuppression struct {
	Kind          string `json:"kind"`
	Justification State  `json:"justification"`
}

type sarifDetails struct {
	ID       string   `json:"id"`
	Severity Severity `json:"severity"`
	Status   State    `json:"status"`
	Since    string   `json:"since"`
}

type sarifLocation struct {
	Physical sarifPhysical `json:"physicalLocation"`
	Logical  []sarifName   `json:"logicalLocations"`
}

type sarifPhysical struct {
	Artifact sarifArtifact `json:"artifactLocation"`
	Region   *sarifRegion  `json:"region,omitzero"`
}

type sarifArtifact struct {
	URI string `json:"uri"`
}

type sarifRegion struct {
	StartLine int `json:"startLine"`
}

type sarifName struct {
	Name string `json:"fullyQualifiedName"`
}

// level is what SARIF calls a severity, and score what GitHub sorts by.
func (s Severity) level() (level, score string) {
	switch s {
	case Critical:
		return "error", "9.5"
	case High:
		return "error", "8.0"
	case Medium:
		return "warning", "5.5"
	case Low:
		return "note", "3.0"
	}
	return "note", "0.0"
}

// Sarif returns the findings for code-scanning tools.
func (r *Report) Sarif(version string) Sarif {
	run := sarifRun{
		Tool:       sarifTool{sarifDriver{Name: "perstack", Version: version, Rules: []sarifRule{}}},
		Results:    []sarifResult{},
		Properties: r.Verdict,
		Invocation: []sarifExecution{{Successful: true, EndTime: r.Time}},
	}
	rules := make(map[string]sarifRule)
	for _, f := range r.Findings {
		if f.Status == Fixed {
			continue
		}
		level, score := f.Severity.level()
		if _, ok := rules[f.Kind]; !ok {
			rules[f.Kind] = sarifRule{f.Kind, sarifText{shown(f.Title)}, sarifText{shown(f.Attack + " " + f.Fix)}, map[string]string{"security-severity": score}}
		}
		at := sarifLocation{Physical: sarifPhysical{Artifact: sarifArtifact{uri(f.File)}}, Logical: []sarifName{{shown(f.Location)}}}
		if f.Line > 0 {
			at.Physical.Region = &sarifRegion{f.Line}
		}
		result := sarifResult{
			Rule: f.Kind, Level: level, Message: sarifText{shown(f.ID + ": " + f.Description)}, Locations: []sarifLocation{at},
			Fingerprints: map[string]string{"perstack/v1": f.Fingerprint},
			Properties:   sarifDetails{f.ID, f.Severity, f.Status, f.Since},
		}
		if f.Status != Open {
			result.Suppressions = []sarifSuppression{{"external", f.Status}}
		}
		run.Results = append(run.Results, result)
	}
	for _, kind := range slices.Sorted(maps.Keys(rules)) {
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, rules[kind])
	}
	return Sarif{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}}
}

// shown makes what is hidden in a text visible.
func shown(text string) string { return terminal.RevealLine(text) }

// uri writes a path of the project as a relative reference.
func uri(file string) string {
	if file == "" {
		file = "perstack.toml"
	}
	return (&url.URL{Path: filepath.ToSlash(file)}).EscapedPath()
}
