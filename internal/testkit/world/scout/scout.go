// Package scout looks around where it runs and reports: who it is, what is in its
// environment, which files it can see and change, which hosts it reaches. It says what is
// so; what ought to be is for the test to say. Package probe, in contrast, knows what every
// sandbox must do.
//
// Start reading at [Command].
package scout

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// A Report is what a scout has found.
type Report struct {
	Program  string            `json:"program"` // that runs
	UID      int               `json:"uid"`
	GID      int               `json:"gid"`
	Groups   []int             `json:"groups"`
	Environ  []string          `json:"environ"`
	Status   map[string]string `json:"status"` // of the process, as the kernel says it
	Places   map[string]Place  `json:"places,omitzero"`
	Fetched  map[string]string `json:"fetched,omitzero"` // status or error, by what was asked for
	Complete bool              `json:"complete"`
}

// A Place is a path as a scout finds it.
type Place struct {
	Files   []string `json:"files,omitempty"` // that can be seen at and below it
	Bytes   int      `json:"bytes"`           // that can be read of them
	Made    string   `json:"made"`            // what came of making a file in it: "" if it worked
	Renamed string   `json:"renamed"`         // what came of moving it away: "" if it worked
}

// Command is the program scoutd:
//
//	scoutd look OUT PATH…           looks at places
//	scoutd fetch OUT HOST[=NAME]…   asks hosts for a page, with that server name
//	scoutd meet MINE OTHER          makes a file and waits for another
//	scoutd make NAME NAME…          makes files
//	scoutd plant TARGET LINK        makes files, replaces a link, and shuts the directory
//
// OUT is a file for the [Report].
func Command(ctx context.Context, args []string) error {
	if len(args) < 3 {
		return errors.New("usage: scoutd look OUT PATH… | fetch OUT HOST[=NAME]… | meet MINE OTHER | make NAME NAME… | plant TARGET LINK")
	}
	switch r := self(); args[0] {
	case "look":
		r.Places = map[string]Place{}
		for _, path := range args[2:] {
			r.Places[path] = look(path)
		}
		return r.write(args[1])
	case "fetch":
		r.Fetched = map[string]string{}
		for _, what := range args[2:] {
			r.Fetched[what] = fetch(ctx, what)
		}
		return r.write(args[1])
	case "meet":
		return meet(ctx, args[1], args[2])
	case "make":
		for _, name := range args[1:] {
			if err := os.WriteFile(name, []byte("made\n"), 0o644); err != nil {
				return err
			}
		}
		return nil
	case "plant":
		return plant(args[1], args[2])
	}
	return fmt.Errorf("%q is nothing that a scout does", args[0])
}

// plant lets a link lead to a file of its own, and takes the rights to the directory away, so
// that what is in it cannot be renamed.
func plant(target, link string) error {
	err := os.WriteFile(target, []byte("PLANTED=1\n"), 0o644)
	if err == nil {
		err = os.Remove(link)
	}
	if err == nil {
		err = os.Symlink(target, link)
	}
	if err == nil {
		err = os.Chmod(".", 0o555)
	}
	return err
}

func (r *Report) write(name string) error {
	r.Complete = true
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o644)
}

func self() *Report {
	r := &Report{UID: os.Getuid(), GID: os.Getgid(), Environ: os.Environ(), Status: map[string]string{}}
	r.Program, _ = os.Executable()
	r.Groups, _ = os.Getgroups()
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		r.Status[name] = strings.TrimSpace(value)
	}
	return r
}

// look sees what it can of a path, and then tries to change it.
func look(path string) Place {
	var p Place
	_ = filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		if name != path {
			p.Files = append(p.Files, name)
		}
		if err == nil && d.Type().IsRegular() {
			data, _ := os.ReadFile(name)
			p.Bytes += len(data)
		}
		return nil // what is not for us is left out
	})
	made := filepath.Join(path, "scout-was-here")
	if err := os.WriteFile(made, []byte("x"), 0o600); err != nil {
		p.Made = err.Error()
	} else {
		_ = os.Remove(made)
	}
	if err := os.Rename(path, path+".moved"); err != nil {
		p.Renamed = err.Error()
	} else {
		_ = os.Rename(path+".moved", path)
	}
	return p
}

// fetch goes where the variables of the environment send every program.
func fetch(ctx context.Context, what string) string {
	host, name, ok := strings.Cut(what, "=")
	if !ok {
		name = host
	}
	transport := &http.Transport{
		Proxy:             http.ProxyFromEnvironment,
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{ServerName: name, InsecureSkipVerify: true}, //nolint:gosec // it counts that somebody answers
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+host+"/scout", http.NoBody)
	if err != nil {
		return err.Error()
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err.Error()
	}
	response.Body.Close()
	return strconv.Itoa(response.StatusCode)
}

// meet says that it is here, and waits for another scout.
func meet(ctx context.Context, mine, other string) error {
	if err := os.WriteFile(mine, nil, 0o644); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	for {
		if _, err := os.Stat(other); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}
