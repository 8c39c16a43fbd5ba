package original

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/secret"
	"github.com/perstack-go/perstack/rawjson"
	"github.com/perstack-go/perstack/store"
)

// A Job is a job of the original.
type Job struct {
	ID string

	root *os.Root
	dir  string // in root
	left int64  // bytes that can still be read
}

// A checkpoint is what is known of a checkpoint before its messages are read.
type checkpoint struct {
	ID          string          `json:"id"`
	JobID       string          `json:"jobId"`
	RunID       string          `json:"runId"`
	StepNumber  int             `json:"stepNumber"`
	Expert      event.ExpertRef `json:"expert"`
	DelegatedBy *event.Parent   `json:"delegatedBy"`

	path    string // of the file that it is in
	inEvent bool   // which is an event
	at      int64  // when it was made, in milliseconds
	step    *step  // nil if no event tells of it
}

// A step is what the event at the end of a step says about it.
type step struct {
	StartedAt int64            `json:"startedAt"`
	Usage     event.Usage      `json:"usage"`
	ToolCalls []event.ToolCall `json:"toolCalls"`
}

// An entry is what is read of an event.
type entry struct {
	RunID      string           `json:"runId"`
	StepNumber int              `json:"stepNumber"`
	Timestamp  int64            `json:"timestamp"`
	ToolCalls  []event.ToolCall `json:"toolCalls"` // callTools
	Reason     string           `json:"reason"`    // retry
	Checkpoint *checkpoint      `json:"checkpoint"`
	Step       *step            `json:"step"`
	Error      *event.Failure   `json:"error"`
}

// A stepOfRun identifies a step.
type stepOfRun struct {
	runID string
	step  int
}

// An index is what the files of a job say, without the conversation.
type index struct {
	checkpoints []*checkpoint // in the order in which they were made
	skills      map[string]string
	retries     map[stepOfRun]string
	failures    map[string]*event.Failure // by checkpoint
	models      map[string]setting        // by Run
	startedAt   int64                     // 0 if it is not known
	notes       []string                  // what was left out
}

// A setting is what is read of a run-setting.json.
type setting struct {
	Model          string        `json:"model"`
	ProviderConfig rawjson.Value `json:"providerConfig"`
	Env            rawjson.Value `json:"env"`
	APIKey         string        `json:"perstackApiKey"`
	ProxyURL       string        `json:"proxyUrl"`

	provider string
}

// look reads everything but the conversation. It adds the secrets of run settings to secrets:
// they can occur in the conversation.
func (j *Job) look(secrets *secret.Set) (*index, error) {
	x := &index{
		skills: make(map[string]string), retries: make(map[stepOfRun]string),
		failures: make(map[string]*event.Failure), models: make(map[string]setting),
	}
	known := make(map[string]*checkpoint)
	names, err := list(j.root, path.Join(j.dir, checkpointsName), maxEntries)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if !strings.HasSuffix(name, ".json") {
			continue
		}
		c := &checkpoint{path: path.Join(checkpointsName, name)}
		err := j.decode(c.path, maxFile, c)
		if err == nil {
			err = c.check(j.ID)
		}
		if err == nil && c.ID != strings.TrimSuffix(name, ".json") {
			err = fmt.Errorf("it is of checkpoint %s", c.ID)
		}
		if err != nil {
			x.note(c.path, err)
			continue
		}
		c.at, known[c.ID] = j.modified(c.path), c
		x.checkpoints = append(x.checkpoints, c)
	}
	runs, err := list(j.root, path.Join(j.dir, runsName), maxEntries)
	if err != nil {
		return nil, err
	}
	for _, runID := range runs {
		if err := j.lookRun(x, runID, known, secrets); err != nil {
			return nil, err
		}
	}
	var summary struct {
		StartedAt int64 `json:"startedAt"`
	}
	if err := j.decode("job.json", maxSummary, &summary); err == nil {
		x.startedAt = max(summary.StartedAt, 0)
	} else if !errors.Is(err, os.ErrNotExist) {
		x.note("job.json", err)
	}
	sortCheckpoints(x.checkpoints)
	if len(x.checkpoints) == 0 {
		return nil, errors.New("it has no checkpoint that can be read" + x.firstNote())
	}
	return x, nil
}

func (x *index) firstNote() string {
	if len(x.notes) == 0 {
		return ""
	}
	return ", such as " + x.notes[0]
}

func (x *index) note(name string, err error) { x.notes = append(x.notes, name+": "+err.Error()) }

// lookRun reads the settings and the events of a Run.
func (j *Job) lookRun(x *index, runID string, known map[string]*checkpoint, secrets *secret.Set) error {
	dir := path.Join(runsName, runID)
	if err := store.CheckID(runID); err != nil {
		x.note(dir, err)
		return nil
	}
	names, err := list(j.root, path.Join(j.dir, dir), maxEntries)
	if err != nil {
		x.note(dir, err)
		return nil
	}
	for _, name := range names {
		file := path.Join(dir, name)
		if name == "run-setting.json" {
			var s setting
			if err := j.decode(file, maxFile, &s); err != nil {
				x.note(file, errors.New("it is not a run setting")) // the error could quote a key
				continue
			}
			x.models[runID] = s.learn(secrets)
			continue
		}
		kind, at := eventName(name)
		if !isRead(kind) {
			continue
		}
		var e entry
		if err := j.decode(file, maxFile, &e); err != nil {
			x.note(file, err)
			continue
		}
		x.add(j.ID, kind, at, file, e, known)
	}
	return nil
}

// add takes in an event.
func (x *index) add(jobID, kind string, at int64, file string, e entry, known map[string]*checkpoint) {
	for _, c := range e.ToolCalls {
		x.skills[c.ID] = c.SkillName
	}
	if kind == "retry" {
		x.retries[stepOfRun{e.RunID, e.StepNumber}] = e.Reason
	}
	c := e.Checkpoint
	if c == nil {
		return
	}
	if err := c.check(jobID); err != nil {
		x.note(file, err)
		return
	}
	if e.Error != nil {
		x.failures[c.ID] = e.Error
	}
	if e.Step != nil {
		for _, call := range e.Step.ToolCalls {
			x.skills[call.ID] = call.SkillName
		}
	}
	if have := known[c.ID]; have != nil {
		have.at, have.step = at, e.Step
		return
	}
	c.path, c.inEvent, c.at, c.step = file, true, at, e.Step
	known[c.ID] = c
	x.checkpoints = append(x.checkpoints, c)
}

// eventName reads the name of an event's file. An empty type is no event.
func eventName(name string) (kind string, at int64) {
	fields := strings.SplitN(name, "-", 4)
	if len(fields) != 4 || fields[0] != "event" {
		return "", 0
	}
	at, err := strconv.ParseInt(fields[1], 10, 64)
	if _, wrong := strconv.ParseInt(fields[2], 10, 64); err != nil || wrong != nil || at < 0 {
		return "", 0
	}
	kind, extension, _ := strings.Cut(fields[3], ".")
	if extension != "json" {
		return "", 0
	}
	return kind, at
}

// isRead reports whether events of a type say something that the checkpoints do not.
func isRead(kind string) bool {
	switch kind {
	case "callTools", "retry", "continueToNextStep", "completeRun":
		return true
	}
	return strings.HasPrefix(kind, "stopRunBy")
}

// check refuses ids that could not be those of a checkpoint of the job.
func (c *checkpoint) check(jobID string) error {
	if c.JobID != jobID {
		return fmt.Errorf("it is of job %.60q", c.JobID)
	}
	for _, id := range []string{c.ID, c.RunID} {
		if err := store.CheckID(id); err != nil {
			return err
		}
	}
	switch {
	case c.Expert.Key == "":
		return errors.New("it names no Expert")
	case c.StepNumber < 0:
		return errors.New("its step number is negative")
	}
	return nil
}

// conversation reads the whole checkpoint, without secrets.
func (j *Job) conversation(c *checkpoint, secrets *secret.Set) (*event.Checkpoint, error) {
	data, err := j.read(c.path, maxFile)
	if err != nil {
		return nil, err
	}
	if data, err = redact(data, secrets); err != nil {
		return nil, fmt.Errorf("%s: %w", c.path, err)
	}
	return parse(data, c)
}

// parse decodes a checkpoint, or the one in an event, and checks that it is c.
func parse(data []byte, c *checkpoint) (*event.Checkpoint, error) {
	var whole event.Checkpoint
	var err error
	if c.inEvent {
		carrier := struct {
			Checkpoint *event.Checkpoint `json:"checkpoint"`
		}{&whole}
		err = json.Unmarshal(data, &carrier)
	} else {
		err = json.Unmarshal(data, &whole)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.path, err)
	}
	if whole.ID != c.ID || whole.RunID != c.RunID || whole.Expert.Key != c.Expert.Key {
		return nil, fmt.Errorf("%s changed while it was read", c.path)
	}
	for _, m := range whole.Messages {
		if m == nil {
			return nil, fmt.Errorf("%s: null is not a message", c.path)
		}
	}
	return &whole, nil
}

// decode reads a JSON file. Members that are not asked for are checked and left out.
func (j *Job) decode(name string, limit int64, into any) error {
	data, err := j.read(name, limit)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

// learn takes the provider's name from a setting, and adds its secrets to secrets.
func (s setting) learn(secrets *secret.Set) setting {
	var config struct {
		Name string `json:"providerName"`
	}
	if json.Unmarshal(s.ProviderConfig, &config) == nil {
		s.provider = config.Name
	}
	if secrets != nil {
		secrets.AddKey("perstackApiKey", s.APIKey)
		secrets.AddIfRandom("proxyUrl", s.ProxyURL)
		for _, v := range []rawjson.Value{s.ProviderConfig, s.Env} {
			addStrings(secrets, v)
		}
	}
	return setting{Model: s.Model, provider: s.provider}
}

// addStrings adds the values of an object that look like keys.
func addStrings(secrets *secret.Set, v rawjson.Value) {
	dec := jsontext.NewDecoder(bytes.NewReader(v))
	name := ""
	for {
		token, err := dec.ReadToken()
		if err != nil {
			return // at its end: it was decoded before
		}
		if token.Kind() != '"' {
			continue
		}
		if in, n := dec.StackIndex(dec.StackDepth()); in == '{' && n%2 == 1 {
			name = token.String()
			continue
		}
		secrets.AddIfRandom(name, token.String())
	}
}

// redact removes secrets from all texts of a JSON value. Nothing is sent to a provider again, so
// what a model wrote is treated like everything else.
func redact(data []byte, secrets *secret.Set) ([]byte, error) {
	if secrets == nil || secrets.Redact(string(data)) == string(data) {
		return data, nil
	}
	var clean bytes.Buffer
	dec, enc := jsontext.NewDecoder(bytes.NewReader(data)), jsontext.NewEncoder(&clean)
	for {
		token, err := dec.ReadToken()
		if errors.Is(err, io.EOF) {
			return clean.Bytes(), nil
		}
		if err == nil && token.Kind() == '"' {
			token = jsontext.String(secrets.Redact(token.String()))
		}
		if err == nil {
			err = enc.WriteToken(token)
		}
		if err != nil {
			return nil, err
		}
	}
}
