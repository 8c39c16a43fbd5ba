package probe

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/privatefile"
	"github.com/perstack-go/perstack/internal/userfile"
)

const (
	cacheName = "sandbox.json"
	maxCache  = 64 << 10
)

// A cached is the content of the cache.
type cached struct {
	// Key is a digest of what the level depends on.
	Key   string `json:"key"`
	Steps []Step `json:"steps"`
}

// Offered is [Level] with a cache in a directory of the user. Without the directory, or with "",
// there is none.
// Only level full is remembered: a cached lower level would outlive the fix. A cache that was made
// elsewhere, that others can write or that cannot be read is ignored. So is one that cannot be
// written.
//
// A cache that is wrong cannot weaken a sandbox: one that cannot be started is an error.
func Offered(ctx context.Context, dir string) (expert.SandboxLevel, []Step) {
	return Prober{}.Offered(ctx, dir)
}

// Offered is the function of that name, with the complete start.
func (p Prober) Offered(ctx context.Context, dir string) (expert.SandboxLevel, []Step) {
	key := digest(circumstances())
	if dir == "" || key == "" {
		return p.Level(ctx)
	}
	path := filepath.Join(dir, cacheName)
	if steps, err := readCache(path, key); err == nil && (p.Complete == nil || passed(steps, Start)) {
		return expert.SandboxFull, steps
	}
	level, steps := p.Level(ctx)
	if _, err := os.Stat(dir); err == nil && level == expert.SandboxFull && ctx.Err() == nil { // asking makes no directory
		writeCache(path, cached{key, steps})
	}
	return level, steps
}

var errOtherCache = errors.New("the cache is that of other circumstances")

func readCache(path, key string) ([]Step, error) {
	data, err := userfile.ReadOwn(path, maxCache)
	if err != nil {
		return nil, err
	}
	var c cached
	if err := json.Unmarshal(data, &c, json.RejectUnknownMembers(true)); err != nil {
		return nil, err
	}
	if c.Key != key || !passed(c.Steps, Namespaces, IDs, Mounts, Proc, Network, Seccomp) || failedStart(c.Steps) {
		return nil, errOtherCache
	}
	return c.Steps, nil
}

// failedStart reports whether a complete start was tried and failed.
func failedStart(steps []Step) bool {
	return slices.ContainsFunc(failing(steps), func(s Step) bool { return strings.HasPrefix(s.Name, Start) })
}

// writeCache saves time only, so an error is none.
func writeCache(path string, c cached) {
	if data, err := json.Marshal(c); err == nil {
		_ = privatefile.Replace(path, data)
	}
}

// digest makes a key; "" if nothing is known.
func digest(parts []string) string {
	if len(parts) == 0 || slices.Contains(parts, "") {
		return ""
	}
	sum := sha256.New()
	for _, part := range parts {
		one := sha256.Sum256([]byte(part)) // so that no part can continue another
		sum.Write(one[:])
	}
	return hex.EncodeToString(sum.Sum(nil))
}
