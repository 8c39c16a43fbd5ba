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
	"sync"
	"time"

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

// Offered is the function of that name, with the complete start. With Known, a process reads the
// cache once, and tries the sandbox once if there is no cache. Calls at the same time wait for the
// first one.
func (p Prober) Offered(ctx context.Context, dir string) (expert.SandboxLevel, []Step) {
	k := p.Known
	if k == nil {
		k = new(Knowledge)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.cached.Key == "" || time.Since(k.when) > lookAgain {
		if level, steps, sure := p.learn(ctx, k, dir); !sure {
			return level, steps
		}
	}
	if dir != "" && k.savedIn != dir && writeCache(dir, k.cached) {
		k.savedIn = dir
	}
	return expert.SandboxFull, k.cached.Steps
}

// Knowledge is what a process knows of the level that its machine offers. Like the cache, it holds
// level full alone. The zero value knows nothing.
type Knowledge struct {
	mu      sync.Mutex
	cached  cached
	when    time.Time // of the last look at the circumstances
	savedIn string    // the directory of the cache that says the same
}

// lookAgain is how long a process takes the circumstances for unchanged: longer than a start asks
// for the level, and short enough for a program that runs for days.
const lookAgain = 10 * time.Second

// learn has k hold level full for the circumstances of now. Otherwise it is not sure, and returns
// what the machine says at this moment.
func (p Prober) learn(ctx context.Context, k *Knowledge, dir string) (level expert.SandboxLevel, steps []Step, sure bool) {
	now, key := time.Now(), digest(circumstances())
	if key == "" || key != k.cached.Key {
		if steps, sure = p.fromCache(dir, key); sure {
			k.cached, k.savedIn = cached{key, steps}, dir
		} else {
			k.cached = cached{}
			level, steps = p.Level(ctx)
			if key == "" || level != expert.SandboxFull || ctx.Err() != nil {
				return level, steps, false
			}
			k.cached, k.savedIn = cached{key, steps}, ""
		}
	}
	k.when = now
	return expert.SandboxFull, k.cached.Steps, true
}

// fromCache returns the steps in the cache of a directory, if they are what this prober asks for.
func (p Prober) fromCache(dir, key string) ([]Step, bool) {
	if dir == "" || key == "" {
		return nil, false
	}
	steps, err := readCache(filepath.Join(dir, cacheName), key)
	return steps, err == nil && (p.Complete == nil || passed(steps, Start))
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

// writeCache reports whether it has written the cache. It makes no directory: asking leaves no
// traces. It saves time only, so an error is none.
func writeCache(dir string, c cached) bool {
	if _, err := os.Stat(dir); err != nil {
		return false
	}
	data, err := json.Marshal(c)
	return err == nil && privatefile.Replace(filepath.Join(dir, cacheName), data) == nil
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
