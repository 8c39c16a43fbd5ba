package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/internal/process"
	"github.com/perstack-go/perstack/internal/registry/client"
)

// The kinds of errors that do not come from a registry.
const (
	kindUsage     = "usage" // wrong usage or configuration: exit code 2
	kindCancelled = "cancelled"
	kindOther     = "error"
)

// jsonErrors marks a command whose errors programs read.
const jsonErrors = "jsonErrors"

// JSONErrors adds --json to a command, and sets value to it. With the flag, the command asks nothing, and
// prints one JSON object: its result, or an error. That holds for every error, wrong flags included:
// [Host.Report] writes them, and the command only returns them.
func (h *Host) JSONErrors(cmd *cobra.Command, value *bool) {
	flag := cmd.Flags().VarPF(jsonFlag{h, value}, "json", "", "print the result, or the error, as JSON, and ask nothing")
	flag.NoOptDefVal = "true"
	mark(cmd, jsonErrors)
}

type jsonFlag struct {
	host  *Host
	value *bool
}

func (f jsonFlag) Set(text string) (err error) {
	*f.value, err = strconv.ParseBool(text)
	f.host.NoInput = *f.value
	return err
}

func (f jsonFlag) String() string { return strconv.FormatBool(f.value != nil && *f.value) }
func (f jsonFlag) Type() string   { return "bool" }

// Report tells the user, and a program that reads standard output, why a command failed. args are those of
// the process: if a flag is wrong, those after it were not read.
func (h *Host) Report(cmd *cobra.Command, args []string, err error) error {
	message := Describe(err)
	if message == "" {
		return err
	}
	if cmd != nil && wantsJSON(cmd, args) {
		err = FailJSON(h.Stdout, err)
	}
	fmt.Fprintln(h.Stderr, "perstack: "+message)
	return err
}

func wantsJSON(cmd *cobra.Command, args []string) bool {
	if _, marked := cmd.Annotations[jsonErrors]; !marked {
		return false
	}
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return cmd.Flag("json").Value.String() == "true" || slices.Contains(args, "--json")
}

// A Failure is an error as programs read it.
type Failure struct {
	Kind      string `json:"kind"` // a [client.Kind], usage, cancelled or error
	Message   string `json:"message"`
	Hint      string `json:"hint,omitzero"`
	Field     string `json:"field,omitzero"` // of what was published
	Registry  string `json:"registry,omitzero"`
	Status    int    `json:"status,omitzero"`    // of the answer
	RequestID string `json:"requestId,omitzero"` // for the operator of the registry
	Evidence  string `json:"evidence,omitzero"`  // a file with two checkpoints that do not agree
}

// FailJSON writes an error for programs, and returns it. Without an error it writes nothing.
func FailJSON(w io.Writer, err error) error {
	if err == nil {
		return nil
	}
	return errors.Join(err, WriteJSON(w, struct {
		Error Failure `json:"error"`
	}{FailureOf(err)}))
}

// FailureOf returns an error as programs read it.
func FailureOf(err error) Failure {
	failed := Failure{Kind: kindOther, Message: Advise(err.Error())}
	if e, ok := errors.AsType[*client.Error](err); ok {
		failed.Kind, failed.Field, failed.Hint = string(e.Kind), e.Field, e.Hint
		failed.Registry, failed.Status, failed.RequestID, failed.Evidence = e.Registry, e.Status, e.RequestID, e.Evidence
	} else if ExitCode(err) == ExitUsage {
		failed.Kind = kindUsage
	}
	if errors.As(err, new(process.Signal)) || errors.Is(err, context.Canceled) {
		failed.Kind = kindCancelled
	}
	return failed
}
