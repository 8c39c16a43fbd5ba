package jobarchive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/restore"
	"github.com/perstack-go/perstack/internal/workspace/snapshot"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/file"
)

// A history is one on the disk, with a key.
type history struct {
	dir    string
	store  *file.Store
	sealer *store.Sealer
}

func (h history) files() string { return filepath.Join(h.dir, "files") }

func newHistory(t testing.TB) history {
	dir := t.TempDir()
	return history{dir, file.New(dir, nil), store.NewSealer("project", store.SealKey{1, 2, 3})}
}

const secret = "TOKEN=a-secret-of-the-workspace"

// record records a job in which two states of a workspace were stored, and returns them.
func (h history) record(t testing.TB, id string) []snapshot.ID {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	work := t.TempDir()
	write := func(name, content string) {
		t.Helper()
		check(os.WriteFile(filepath.Join(work, name), []byte(content), 0o600))
	}
	check(os.MkdirAll(filepath.Join(work, "sub", "empty"), 0o700))
	write("a.txt", "one")
	write("sub/large", strings.Repeat("0123456789abcdef", 400_000)) // in chunks
	write(".env", secret)
	stored, err := snapshot.Open(t.Context(), h.files())
	check(err)
	options := snapshot.Defaults()
	options.EnvFiles = true
	taker := stored.Taker(work, options)
	var trees []snapshot.ID
	take := func() {
		s, err := taker.Take(t.Context())
		check(err)
		trees = append(trees, s.Tree)
	}
	take()
	write("a.txt", "two")
	take()
	check(errors.Join(taker.Close(), stored.Close()))
	j, err := h.store.WithSeal(h.sealer).Open(t.Context(), id)
	check(err)
	for i, b := range []event.Body{
		event.StartRun{CheckpointID: "c"}, event.WorkspaceSnapshot{Tree: trees[0].String(), Reason: event.SnapshotBefore},
		event.WorkspaceSnapshot{Tree: trees[1].String(), Reason: event.SnapshotEnd}, event.StopRunByInterrupt{},
	} {
		_, err := j.Append(t.Context(), event.Event{ID: fmt.Sprint("e", i), JobID: id, RunID: "r", ExpertKey: "writer", StepNumber: 1, Timestamp: int64(1000 + i), Body: b})
		check(err)
	}
	check(j.Close())
	return trees
}

// recordSmall records a job without files.
func (h history) recordSmall(t testing.TB) {
	t.Helper()
	j, err := h.store.Open(t.Context(), "job-1")
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range []event.Body{event.StartRun{CheckpointID: "c"}, event.StopRunByInterrupt{}} {
		if _, err := j.Append(t.Context(), event.Event{ID: "e", JobID: "job-1", RunID: "r", ExpertKey: "w", StepNumber: 1, Timestamp: 1, Body: b}); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

func (h history) export(t testing.TB, id string) ([]byte, Manifest) {
	t.Helper()
	var out bytes.Buffer
	m, err := Write(t.Context(), &out, h.store, h.files(), id)
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), m
}

// What was written can be read: the same records and the same states, without the contents of env
// files. It has the same bytes each time, wherever it is written.
func TestRoundTrip(t *testing.T) {
	from := newHistory(t)
	trees := from.record(t, "job-1")
	from.record(t, "other")
	data, m := from.export(t, "job-1")
	if again, _ := from.export(t, "job-1"); !bytes.Equal(data, again) {
		t.Error("the same job has other bytes")
	}
	to := newHistory(t)
	got, err := Read(t.Context(), bytes.NewReader(data), to.store, to.files())
	if err != nil || got != m || got.Job != "job-1" || got.Records != 4 {
		t.Fatalf("%+v, %v, want %+v", got, err, m)
	}
	journal := func(h history) string {
		data, err := os.ReadFile(filepath.Join(h.dir, "jobs", "job-1", "journal.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	if journal(from) != journal(to) {
		t.Error("the journals differ")
	}
	if again, _ := to.export(t, "job-1"); !bytes.Equal(data, again) {
		t.Error("what was imported is exported with other bytes")
	}
	stored, err := snapshot.Open(t.Context(), to.files())
	if err != nil {
		t.Fatal(err)
	}
	defer stored.Close()
	content := map[string]string{}
	for _, tree := range trees {
		entries, err := stored.Tree(tree)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Kind == snapshot.File {
				err := stored.Content(e, func(data []byte) error { content[e.Name] += string(data); return nil })
				if (err != nil) != (e.Name == ".env") {
					t.Errorf("%s: %v", e.Name, err)
				}
			}
		}
	}
	if diff := cmp.Diff(map[string]string{"a.txt": "onetwo"}, content); diff != "" {
		t.Error(diff)
	}
	if raw := unpack(t, data); strings.Contains(raw, secret) || !strings.Contains(raw, "0123456789abcdef") {
		t.Error("the archive has the content of an env file, or none at all")
	}
	// Nothing that is missing keeps stored files of others from being collected.
	if _, err := restore.Collect(t.Context(), to.store, to.files(), time.UnixMilli(2000)); err != nil && !errors.Is(err, snapshot.ErrInUse) {
		t.Error(err)
	}
}

// An imported job can be read, and is not continued, even by the user and the project that recorded it.
func TestImportedIsNotSealed(t *testing.T) {
	from := newHistory(t)
	from.record(t, "job-1")
	data, _ := from.export(t, "job-1")
	to := newHistory(t)
	if _, err := Read(t.Context(), bytes.NewReader(data), to.store, to.files()); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Verify(t.Context(), to.store, "job-1"); err != nil {
		t.Error(err)
	}
	fault, ok := errors.AsType[*store.SealError](func() error { _, err := to.store.WithSeal(to.sealer).Open(t.Context(), "job-1"); return err }())
	if !ok || fault.Fault != store.Unsealed || !fault.Head {
		t.Errorf("%v", fault)
	}
	j, err := to.store.WithSeal(to.sealer.Trusting()).Open(t.Context(), "job-1")
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}

func unpack(t testing.TB, data []byte) string {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// An entry is one of an archive that a test changes.
type entry struct {
	tar.Header
	content string
}

func entries(t testing.TB, data []byte) (all []entry) {
	t.Helper()
	r := tar.NewReader(strings.NewReader(unpack(t, data)))
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, entry{*h, string(content)})
	}
}

// pack makes an archive of entries.
func pack(t testing.TB, all []entry) []byte {
	t.Helper()
	var out bytes.Buffer
	packed := gzip.NewWriter(&out)
	w := tar.NewWriter(packed)
	for _, e := range all {
		h := e.Header
		if h.Typeflag == tar.TypeReg {
			h.Size = int64(len(e.content))
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			if _, err := io.WriteString(w, e.content); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := errors.Join(w.Close(), packed.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// described returns entries whose manifest fits the journal.
func described(t testing.TB, all []entry) []entry {
	t.Helper()
	sum := sha256.Sum256([]byte(all[1].content))
	lines := strings.SplitAfter(strings.TrimSuffix(all[1].content, "\n"), "\n")
	last := sha256.Sum256([]byte(strings.TrimSuffix(lines[len(lines)-1], "\n")))
	all[0].content = fmt.Sprintf(`{"format":"perstack job","version":1,"job":"job-1","records":%d,"head":"%x","journal":{"size":%d,"sha256":"%s"},"blobs":%d}`,
		len(lines), last, len(all[1].content), hex.EncodeToString(sum[:]), len(all)-2)
	return all
}

// An archive that is not what [Write] wrote is refused, and nothing is left outside of the directory.
func TestHostileArchives(t *testing.T) {
	from := newHistory(t)
	from.record(t, "job-1")
	good, _ := from.export(t, "job-1")
	regular := func(name, content string) entry {
		return entry{tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o600}, content}
	}
	special := func(kind byte, name, target string) entry {
		return entry{tar.Header{Typeflag: kind, Name: name, Linkname: target, Mode: 0o600}, ""}
	}
	change := func(f func([]entry) []entry) func() []byte {
		return func() []byte { return pack(t, f(entries(t, good))) }
	}
	blob := func(all []entry, kind string) int {
		return slices.IndexFunc(all, func(e entry) bool { return strings.HasPrefix(e.Name, "blobs/"+kind) })
	}
	hash := func(kind, content string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(kind+content))) }
	replace := func(old, new string) func() []byte {
		return change(func(all []entry) []entry {
			all[1].content = strings.Replace(all[1].content, old, new, 1)
			return described(t, all)
		})
	}
	for name, test := range map[string]struct {
		data func() []byte
		want string
	}{
		"empty":                      {func() []byte { return nil }, "the archive is cut off"},
		"not gzip":                   {func() []byte { return []byte("PK\x03\x04 something else") }, "it is not an archive of a job"},
		"not a tar":                  {func() []byte { return gz(t, strings.Repeat("x", 4096)) }, "tar"},
		"no entry":                   {func() []byte { return pack(t, nil) }, "the archive is cut off"},
		"cut in the compressed data": {func() []byte { return good[:len(good)/2] }, "the archive is cut off"},
		"without its checksum":       {func() []byte { return good[:len(good)-8] }, "the archive is cut off"},
		"cut after the journal":      {change(func(all []entry) []entry { return all[:2] }), "it has 0 blobs, but the manifest says"},
		"wrong checksum": {func() []byte {
			bad := bytes.Clone(good)
			bad[len(bad)-5] ^= 1
			return bad
		}, "gzip: invalid checksum"},
		"something after the end":  {func() []byte { return append(bytes.Clone(good), gz(t, "more")...) }, "something follows"},
		"garbage after the end":    {func() []byte { return append(bytes.Clone(good), "more than a header"...) }, "gzip"},
		"no manifest":              {change(func(all []entry) []entry { return all[1:] }), `it has an entry "journal.jsonl" where manifest.json belongs`},
		"manifest twice":           {change(func(all []entry) []entry { return slices.Insert(all, 1, all[0]) }), `it has an entry "manifest.json" where journal.jsonl belongs`},
		"journal twice":            {change(func(all []entry) []entry { return slices.Insert(all, 2, all[1]) }), `it has an entry "journal.jsonl", which does not belong`},
		"a blob twice":             {change(func(all []entry) []entry { return slices.Insert(all, 3, all[2]) }), "is not in order, or there twice"},
		"blobs in another order":   {change(func(all []entry) []entry { all[2], all[3] = all[3], all[2]; return all }), "is not in order, or there twice"},
		"parent directory":         {change(func(all []entry) []entry { return append(all, regular("../evil", "x")) }), `it has an entry "../evil"`},
		"parent in the middle":     {change(func(all []entry) []entry { return append(all, regular("blobs/../../evil", "x")) }), "does not belong to a job"},
		"absolute path":            {change(func(all []entry) []entry { return append(all, regular("/tmp/evil", "x")) }), "does not belong to a job"},
		"path of Windows":          {change(func(all []entry) []entry { return append(all, regular(`blobs\..\evil`, "x")) }), "does not belong to a job"},
		"another file":             {change(func(all []entry) []entry { return append(all, regular("job.json", "{}")) }), "does not belong to a job"},
		"a name with a line break": {change(func(all []entry) []entry { return append(all, regular("x\n\x1b[31mevil", "x")) }), `x\n\x1b[31mevil`},
		"a blob that is too large": {change(func(all []entry) []entry {
			return append(all[:2], regular("blobs/b-"+hash("b", "x"), strings.Repeat("x", snapshot.MaxObject+1)))
		}), "is larger than 67108864 bytes"},
		"symbolic link": {change(func(all []entry) []entry { return append(all, special(tar.TypeSymlink, "blobs/x", "/etc/passwd")) }), "not an ordinary file"},
		"hard link":     {change(func(all []entry) []entry { return append(all, special(tar.TypeLink, "blobs/x", "journal.jsonl")) }), "not an ordinary file"},
		"journal is a link": {change(func(all []entry) []entry {
			all[1] = special(tar.TypeSymlink, "journal.jsonl", "/etc/passwd")
			return all
		}), "not an ordinary file"},
		"device":    {change(func(all []entry) []entry { return append(all, special(tar.TypeChar, "blobs/x", "")) }), "not an ordinary file"},
		"pipe":      {change(func(all []entry) []entry { return append(all, special(tar.TypeFifo, "blobs/x", "")) }), "not an ordinary file"},
		"directory": {change(func(all []entry) []entry { return append(all, special(tar.TypeDir, "blobs/", "")) }), "not an ordinary file"},
		"global records": {change(func(all []entry) []entry {
			return append([]entry{{Header: tar.Header{Typeflag: tar.TypeXGlobalHeader, Name: "g", PAXRecords: map[string]string{"path": "x"}}}}, all...)
		}), "not an ordinary file"},
		"extended records": {change(func(all []entry) []entry {
			all[0].Format, all[0].PAXRecords = tar.FormatPAX, map[string]string{"PERSTACK.x": "y"}
			return all
		}), "not an ordinary file"},
		"a manifest that is none": {change(func(all []entry) []entry { all[0].content = "{}"; return all }), "manifest.json does not describe a job"},
		"an unknown member": {change(func(all []entry) []entry {
			all[0].content = strings.Replace(all[0].content, "{", `{"x":1,`, 1)
			return all
		}), "manifest.json cannot be read"},
		"a newer version": {change(func(all []entry) []entry {
			all[0].content = strings.Replace(all[0].content, `"version": 1`, `"version": 2`, 1)
			return all
		}), "it has version 2 of the format"},
		"a manifest of a megabyte": {change(func(all []entry) []entry {
			all[0].content += strings.Repeat(" ", 1<<20)
			return all
		}), "manifest.json is larger than"},
		"an id that leads elsewhere": {change(func(all []entry) []entry {
			all[0].content = strings.Replace(all[0].content, `"job-1"`, `"../../x"`, 1)
			return all
		}), "invalid id"},
		"another job": {change(func(all []entry) []entry {
			all[0].content = strings.Replace(all[0].content, `"job-1"`, `"job-2"`, 1)
			return all
		}), `it belongs to job "job-1"`},
		"another digest": {change(func(all []entry) []entry {
			all[1].content = strings.Replace(all[1].content, "writer", "Writer", 1)
			return all
		}), "damaged at record 2"},
		"a journal that is not the described one": {change(func(all []entry) []entry {
			sha := entries(t, good)[0].content
			at := strings.Index(sha, `"sha256": "`) + len(`"sha256": "`)
			all[0].content = sha[:at] + strings.Repeat("0", 64) + sha[at+64:]
			return all
		}), "journal.jsonl has another digest than the manifest says"},
		"another last record": {change(func(all []entry) []entry {
			lines := strings.SplitAfter(all[1].content, "\n")
			all[1].content = strings.Join(lines[:3], "")
			head := entries(t, good)[0].content
			all = described(t, all)
			at := strings.Index(head, `"head": "`) + len(`"head": "`)
			all[0].content = all[0].content[:strings.Index(all[0].content, `"head":"`)+8] + head[at:at+64] + all[0].content[strings.Index(all[0].content, `"head":"`)+8+64:]
			return all
		}), "the last record of journal.jsonl is not the one that the manifest names"},
		"a record is changed": {replace(`"expertKey":"writer"`, `"expertKey":"reader"`), "damaged at record 2"},
		"no record":           {change(func(all []entry) []entry { all[1].content = ""; return described(t, all[:2]) }), "record 1"},
		"a record is cut off": {change(func(all []entry) []entry {
			all[1].content = strings.TrimSuffix(all[1].content, "\n")
			return described(t, all)
		}), "it is cut off"},
		"an unknown event":     {replace(`"type":"stopRunByInterrupt"`, `"type":"somethingNew"`), "somethingNew"},
		"a state that is none": {changedState(t, good), "names a state"},
		"a blob with another content": {change(func(all []entry) []entry {
			all[blob(all, "b")].content += "x"
			return all
		}), "its content has another digest"},
		"a blob as a tree": {change(func(all []entry) []entry {
			i := blob(all, "b")
			all = append(all, regular("blobs/t-"+strings.TrimPrefix(all[i].Name, "blobs/b-"), all[i].content))
			slices.SortFunc(all[2:], func(a, b entry) int { return strings.Compare(a.Name, b.Name) })
			return described(t, all)
		}), "its content has another digest"},
		"upper case": {change(func(all []entry) []entry {
			all[2].Name = "blobs/b-" + strings.ToUpper(strings.TrimPrefix(all[2].Name, "blobs/b-"))
			return all
		}), "does not belong to a job"},
		"a blob is missing": {change(func(all []entry) []entry { i := blob(all, "b"); return described(t, slices.Delete(all, i, i+1)) }), "is missing"},
		"a tree is missing": {change(func(all []entry) []entry {
			// The directory "sub", which both states have.
			for i := blob(all, "t"); i < len(all); i++ {
				if !strings.Contains(all[i].content, "a.txt") {
					return described(t, slices.Delete(all, i, i+1))
				}
			}
			t.Fatal("there is none")
			return nil
		}), "the object is missing"},
		"a list of chunks is missing": {change(func(all []entry) []entry { i := blob(all, "c"); return described(t, slices.Delete(all, i, i+1)) }), "the object is missing"},
		"a blob that nothing needs": {change(func(all []entry) []entry {
			all = slices.Insert(all, 2, regular("blobs/b-"+hash("b", "evil"), "evil"))
			slices.SortFunc(all[2:], func(a, b entry) int { return strings.Compare(a.Name, b.Name) })
			return described(t, all)
		}), "no state of the job needs"},
	} {
		t.Run(name, func(t *testing.T) {
			around := t.TempDir()
			dir := filepath.Join(around, "deep", "stage")
			_, err := Read(t.Context(), bytes.NewReader(test.data()), file.New(dir, nil), filepath.Join(dir, "files"))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %s", err, test.want)
			}
			if err != nil && strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("the error has control characters: %q", err)
			}
			if left, err := os.ReadDir(around); err != nil || len(left) > 1 {
				t.Errorf("it wrote elsewhere: %v, %v", left, err)
			}
		})
	}
}

// changedState makes an archive with a whole chain whose record names a state that is none: it would
// keep stored files of all jobs from being collected.
func changedState(t *testing.T, good []byte) func() []byte {
	return func() []byte {
		h := newHistory(t)
		j, err := h.store.Open(t.Context(), "job-1")
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range []event.Body{event.StartRun{CheckpointID: "c"}, event.WorkspaceSnapshot{Tree: "../../x", Reason: event.SnapshotEnd}} {
			if _, err := j.Append(t.Context(), event.Event{ID: "e", JobID: "job-1", RunID: "r", ExpertKey: "w", StepNumber: 1, Timestamp: 1, Body: b}); err != nil {
				t.Fatal(err)
			}
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(h.dir, "jobs", "job-1", "journal.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		all := entries(t, good)[:2]
		all[1].content = string(data)
		return pack(t, described(t, all))
	}
}

func gz(t testing.TB, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// What is larger than the limits is neither written nor unpacked, whatever the compressed size is.
func TestLimits(t *testing.T) {
	h := newHistory(t)
	h.record(t, "job-1")
	data, m := h.export(t, "job-1")
	raw := unpack(t, data)
	size := int64(len(raw))
	for name, test := range map[string]struct {
		most limits
		want string
	}{
		"fits":           {limits{size, m.Blobs + 2}, ""},
		"too many bytes": {limits{size - 1, m.Blobs + 2}, "more than 1 GiB"},
		"too many files": {limits{size, m.Blobs + 1}, "more than 100,000 files"},
	} {
		t.Run(name, func(t *testing.T) {
			_, wrote := write(t.Context(), io.Discard, h.store, h.files(), "job-1", test.most)
			to := newHistory(t)
			_, read := readTar(t.Context(), strings.NewReader(raw), to.store, to.files(), test.most)
			for what, err := range map[string]error{"write": wrote, "read": read} {
				limit, ok := errors.AsType[*LimitError](err)
				if ok != (test.want != "") || ok && !strings.Contains(limit.Error(), test.want) || !ok && err != nil {
					t.Errorf("%s: %v", what, err)
				}
			}
		})
	}
	// Records of an extended header have no entry of their own, and no end.
	var header bytes.Buffer
	w := tar.NewWriter(&header)
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "x", Format: tar.FormatPAX, PAXRecords: map[string]string{"PERSTACK.x": strings.Repeat("y", 1000)}}); err != nil {
		t.Fatal(err)
	}
	again := &endless{data: header.Bytes()[:header.Len()-512]} // without the header of the file
	to := newHistory(t)
	if _, err := readTar(t.Context(), again, to.store, to.files(), limits{1 << 20, 10}); !errors.As(err, new(*LimitError)) {
		t.Errorf("endless headers: %v", err)
	}
	if again.read > 2<<20 {
		t.Errorf("%d bytes were read", again.read)
	}
}

// endless repeats data.
type endless struct {
	data []byte
	read int
}

func (e *endless) Read(into []byte) (int, error) {
	n := copy(into, e.data[e.read%len(e.data):])
	e.read += n
	return n, nil
}

// Whatever an archive contains, it is read without a panic, and what is accepted is whole: it can be
// exported again.
func FuzzRead(f *testing.F) {
	h := newHistory(f)
	h.recordSmall(f)
	data, _ := h.export(f, "job-1")
	raw := unpack(f, data)
	f.Add([]byte(raw))
	f.Add([]byte(raw[:len(raw)/2]))
	f.Fuzz(func(t *testing.T, raw []byte) {
		to := newHistory(t)
		m, err := readTar(t.Context(), bytes.NewReader(raw), to.store, to.files(), limits{1 << 20, 100})
		if err != nil {
			return
		}
		again, err := Write(t.Context(), io.Discard, to.store, to.files(), m.Job)
		if err != nil || again != m {
			t.Errorf("%+v, %v, want %+v", again, err, m)
		}
	})
}
