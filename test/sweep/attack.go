package sweep

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/file"
)

// sealer has the key of the victims. An attacker does not have it.
var sealer = store.NewSealer("sweep", store.SealKey{7})

// attack changes copies of what a killed job has left, as a program can that writes to the
// history and does not have the key. It returns how many were tried, and those that would be
// continued.
func (t trial) attack(ctx context.Context) (tried int, accepted []string, err error) {
	dir := filepath.Dir(journalPath(t.dir))
	journal, err := os.ReadFile(filepath.Join(dir, "journal.jsonl"))
	if err != nil {
		return 0, nil, ignoreMissing(err)
	}
	head, err := os.ReadFile(filepath.Join(dir, "head"))
	if err != nil {
		return 0, nil, ignoreMissing(err)
	}
	recorded, err := file.New(filepath.Join(t.dir, storageName), nil).RecordedHead(ctx, jobID)
	lines := bytes.SplitAfter(journal, []byte("\n"))
	committed := int(recorded.Head.Seq)
	if err != nil || committed < 2 {
		return 0, nil, err // there is nothing to cut back
	}
	shorter := bytes.Join(lines[:committed-1], nil)
	before := fmt.Sprintf("%x", sha256.Sum256(bytes.TrimSuffix(lines[committed-2], []byte("\n"))))
	adapted := bytes.Replace(head, []byte(fmt.Sprintf(`"seq":%d,"digest":%q`, committed, recorded.Head.Digest.String())),
		[]byte(fmt.Sprintf(`"seq":%d,"digest":%q`, committed-1, before)), 1)
	changed := rechain(bytes.Join(lines[:committed], nil), `"timestamp":1`, `"timestamp":2`)
	other := rechain(bytes.Join(lines[:committed], nil), `"jobId":"`+jobID+`"`, `"jobId":"other"`)
	for _, a := range []struct {
		name          string
		journal, head []byte // without a head if it is nil
		job           string
		sealer        *store.Sealer
	}{
		{"cut back", shorter, head, jobID, sealer},
		{"cut back, the head removed", shorter, nil, jobID, sealer},
		{"cut back, the head emptied", shorter, []byte{}, jobID, sealer},
		{"cut back, the head adapted", shorter, adapted, jobID, sealer},
		{"changed", changed, nil, jobID, sealer},
		{"changed, with the head", changed, head, jobID, sealer},
		{"without seals", rechain(changed, `,"seal":"[^"]*"}$`, `}`), nil, jobID, sealer},
		{"moved to another job", bytes.Join(lines[:committed], nil), head, "other", sealer},
		{"moved to another job and adapted", other, head, "other", sealer},
		{"moved to another project", journal, head, jobID, store.NewSealer("other", store.SealKey{7})},
		{"with another key", journal, head, jobID, store.NewSealer("sweep", store.SealKey{8})},
	} {
		at := filepath.Join(t.dir, "attack")
		to := filepath.Join(at, "jobs", a.job)
		if err := os.MkdirAll(to, 0o700); err != nil {
			return tried, accepted, err
		}
		err := os.WriteFile(filepath.Join(to, "journal.jsonl"), a.journal, 0o600)
		if err == nil && a.head != nil {
			err = os.WriteFile(filepath.Join(to, "head"), a.head, 0o600)
		}
		if err != nil {
			return tried, accepted, err
		}
		tried++
		if t.sabotage == trusts {
			a.sealer = a.sealer.Trusting()
		}
		if j, err := file.New(at, nil).WithSeal(a.sealer).Open(ctx, a.job); err == nil {
			accepted = append(accepted, a.name)
			_ = j.Close() // it is thrown away
		}
		if err := os.RemoveAll(at); err != nil {
			return tried, accepted, err
		}
	}
	return tried, accepted, nil
}

// rechain changes the lines of a journal, and links them again.
func rechain(journal []byte, old, new string) []byte {
	link := regexp.MustCompile(`"prev":"[0-9a-f]{64}"`)
	prev := strings.Repeat("0", 64)
	var out []byte
	for line := range bytes.Lines(journal) {
		line = regexp.MustCompile(old).ReplaceAll(bytes.TrimSuffix(line, []byte("\n")), []byte(new))
		line = link.ReplaceAll(line, []byte(`"prev":"`+prev+`"`))
		prev = fmt.Sprintf("%x", sha256.Sum256(line))
		out = append(append(out, line...), '\n')
	}
	return out
}

func ignoreMissing(err error) error {
	if os.IsNotExist(err) {
		return nil
	}
	return err
}

// The ways in which another program takes the journal away from a process that writes it.
var takes = map[string]func(path string) error{
	"take remove": os.Remove,
	"take truncate": func(path string) error {
		if info, err := os.Stat(path); err != nil || info.Size() <= 100 {
			return errors.New("there is nothing to take away")
		}
		return os.Truncate(path, 100)
	},
	"take replace": func(path string) error {
		data, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path+".copy", data, 0o600)
		}
		if err == nil {
			err = os.Rename(path+".copy", path)
		}
		return err
	},
}

// took judges how a process ended from which the journal was taken at a failpoint. It must
// have failed, unless all was over: then it had looked for the last time. Nor does it notice a copy
// of the same content before it opens the journal, when it makes the directories.
func took(point string, failure error) []finding {
	kind, name, _ := strings.Cut(point, " ")
	over := kind == "mkdir" || kind == "close" || kind == "truncate" || name == "lock" || strings.HasPrefix(name, "job.json")
	if failure == nil && !over {
		return []finding{{loss, "the journal was gone, and the run ended as if nothing had happened"}}
	}
	return nil
}
