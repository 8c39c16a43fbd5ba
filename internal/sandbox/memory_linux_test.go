package sandbox

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
)

// However much memory a policy allows, a quarter of the machine's is left for others.
func TestMemoryLimit(t *testing.T) {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		t.Fatal(err)
	}
	var total int64
	for line := range strings.Lines(string(text)) {
		if kilobytes := int64(0); strings.HasPrefix(line, "MemTotal:") {
			if _, err := fmt.Sscanf(line, "MemTotal: %d kB", &kilobytes); err != nil {
				t.Fatal(err)
			}
			total = kilobytes << 10
		}
	}
	for wanted, want := range map[int64]int64{0: 0, 1 << 20: 1 << 20, math.MaxInt64: total / 4 * 3} {
		if got := memoryLimit(wanted); got != want {
			t.Errorf("%d of %d bytes: %d, want %d", wanted, total, got, want)
		}
	}
}
