package log

import (
	"bufio"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/event"
)

// A runLine is a Run as a program reads it.
type runLine struct {
	RunID            string      `json:"runId"`
	ExpertKey        string      `json:"expertKey"`
	ParentRunID      string      `json:"parentRunId,omitzero"`
	ParentToolCallID string      `json:"parentToolCallId,omitzero"`
	From             *pointLine  `json:"from,omitzero"` // the checkpoint of another Run that it goes on from
	Status           string      `json:"status"`
	Reason           string      `json:"reason,omitzero"`
	Steps            int         `json:"steps"`
	Usage            event.Usage `json:"usage"`
	Checkpoints      []string    `json:"checkpoints"`
	Head             bool        `json:"head"`
}

type pointLine struct {
	RunID        string `json:"runId"`
	CheckpointID string `json:"checkpointId"`
}

// writeTree prints the Runs in the order in which they are drawn.
func (v *survey) writeTree(opts *Options, w *bufio.Writer) error {
	out := event.NewWriter(w)
	head, _ := v.headRun()
	rest := [][]*node{inRow(v.roots(opts))}
	for len(rest) > 0 {
		top := rest[len(rest)-1]
		if len(top) == 0 {
			rest = rest[:len(rest)-1]
			continue
		}
		n := top[0]
		rest[len(rest)-1] = top[1:]
		rest = append(rest, inRow(n.below))
		l := runLine{
			RunID: n.id, ExpertKey: n.expertKey, ParentRunID: n.parentRunID, ParentToolCallID: n.callID,
			Status: n.status, Reason: n.reason, Steps: n.steps, Usage: n.usage, Checkpoints: append([]string{}, n.checkpoints...), Head: n.id == head,
		}
		if n.origin != nil {
			l.From = &pointLine{n.origin.RunID, n.origin.CheckpointID}
		}
		line, err := json.Marshal(l, json.Deterministic(true))
		if err == nil {
			err = out.WriteLine(line)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
