package expert

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// ReasoningBudget says how much a model may think before it answers: a named
// level, or a number of tokens. It is kept as it is written in the file. The
// zero value means that nothing was said.
type ReasoningBudget string

// The named levels.
const (
	ReasoningNone    ReasoningBudget = "none"
	ReasoningMinimal ReasoningBudget = "minimal"
	ReasoningLow     ReasoningBudget = "low"
	ReasoningMedium  ReasoningBudget = "medium"
	ReasoningHigh    ReasoningBudget = "high"
)

// ParseReasoningBudget reads a level or a decimal number of tokens.
func ParseReasoningBudget(s string) (ReasoningBudget, error) {
	switch b := ReasoningBudget(s); b {
	case ReasoningNone, ReasoningMinimal, ReasoningLow, ReasoningMedium, ReasoningHigh:
		return b, nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt32 || strings.HasPrefix(s, "+") {
		return "", fmt.Errorf("invalid reasoning budget %s; use none, minimal, low, medium, high or a number of tokens", quote(s))
	}
	return ReasoningBudget(strconv.FormatInt(n, 10)), nil
}

// String is the level or number as written in the file.
func (b ReasoningBudget) String() string { return string(b) }

// Tokens is the budget for providers that count tokens. Providers that know
// only words derive them from it: up to 2048 low, up to 5000 medium, else high.
func (b ReasoningBudget) Tokens() int {
	switch b {
	case ReasoningMinimal:
		return 1024
	case ReasoningLow:
		return 2048
	case ReasoningMedium:
		return 5000
	case ReasoningHigh:
		return 10000
	}
	n, err := strconv.Atoi(string(b))
	if err != nil {
		return 0 // none, or unset
	}
	return n
}

// Off reports whether reasoning is switched off: none or 0. An unset budget is
// not off.
func (b ReasoningBudget) Off() bool {
	return b == ReasoningNone || b == "0"
}
