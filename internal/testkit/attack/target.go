package attack

import (
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
)

// A Target is what a victim tells of itself.
type Target struct {
	PID     int    `json:"pid"`
	Above   int    `json:"above"` // the process that started it
	Child   int    `json:"child"` // one that it has started
	Home    string `json:"home"`
	Tmp     string `json:"tmp"`
	Package string `json:"package"` // a file of its package; empty if it is not of one
	Proxy   string `json:"proxy"`   // with its token; empty if it has none
	Host    string `json:"host"`    // that it may reach
	Private string `json:"private"` // the file in Home and in Tmp that has its secret
}

// Write puts the target where attackers find it. The file appears complete.
func (c Target) Write(name string) error {
	data, err := json.Marshal(c)
	if err != nil {
		return err
	}
	if err := os.WriteFile(name+".new", data, 0o644); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

// ReadTarget waits for a target.
func ReadTarget(ctx context.Context, name string) (Target, error) {
	var c Target
	err := await(ctx, name)
	if err != nil {
		return c, err
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return c, err
	}
	return c, json.Unmarshal(data, &c)
}

// await returns when a file is there.
func await(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		if _, err := os.Stat(name); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s never came: %w", name, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Hide writes a marker so that a match is a secret, and not the search
// for it.
func Hide(marker string) string {
	b := []byte(marker)
	slices.Reverse(b)
	for i := range b {
		b[i] ^= 0x5a
	}
	return hex.EncodeToString(b)
}

// unhide is the way back.
func unhide(hidden string) ([]byte, error) {
	b, err := hex.DecodeString(hidden)
	if err != nil {
		return nil, err
	}
	for i := range b {
		b[i] ^= 0x5a
	}
	slices.Reverse(b)
	return b, nil
}
