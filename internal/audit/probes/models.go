package probes

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/perstack-go/perstack/internal/audit"
	"github.com/perstack-go/perstack/internal/providers/wire"
)

var errNoKey = errors.New("the configured server did not get the key either")

// postKey asks a model server as providers do, and reads its answer to the end.
func postKey(ctx context.Context, baseURL, key string) error {
	c := wire.Client{
		Provider: "audit", BaseURL: baseURL, Header: http.Header{"X-Api-Key": {key}}, Secrets: []string{key},
		HTTP: wire.NewHTTPClient(nil), FirstByte: patience, Idle: patience,
	}
	stream, err := c.Post(ctx, "/messages", nil, []byte("{}"))
	if err != nil {
		return err
	}
	defer stream.Close()
	for {
		if _, err := stream.Next(); err != nil {
			return err
		}
	}
}

// A modelServer is hostile: it redirects, or never ends an answer.
type modelServer struct {
	url     string
	keys    atomic.Int32 // requests that had the key
	written atomic.Int64
	stop    func()
}

func serveModel(ctx context.Context, key string, answer func(s *modelServer, w http.ResponseWriter, r *http.Request)) (*modelServer, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &modelServer{url: "http://" + listener.Addr().String()}
	server := &http.Server{ReadHeaderTimeout: patience, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Api-Key") == key {
			s.keys.Add(1)
		}
		answer(s, w, r)
	})}
	ended := make(chan struct{})
	go func() { _ = server.Serve(listener); close(ended) }()
	s.stop = func() { _ = server.Close(); <-ended }
	return s, nil
}

// hostileServers is the part of the attack on L1 that needs servers. It returns what went wrong.
func (m *Machine) hostileServers(ctx context.Context) (broken string, err error) {
	key := "sk-" + canary
	thief, err := serveModel(ctx, key, func(_ *modelServer, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	if err != nil {
		return "", err
	}
	defer thief.stop()
	for _, status := range []int{301, 302, 307, 308} {
		s, err := serveModel(ctx, key, func(_ *modelServer, w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, thief.url, status)
		})
		if err != nil {
			return "", err
		}
		err = m.Parts.Post(ctx, s.url, key)
		s.stop()
		switch {
		case s.keys.Load() == 0:
			return "", errNoKey
		case thief.keys.Load() > 0:
			return "a redirect took the key to another server", nil
		case err == nil || strings.Contains(err.Error(), key):
			return "a redirect is not reported, or with the key", nil
		}
	}
	// One line without an end.
	const most = 256 << 20
	s, err := serveModel(ctx, key, func(s *modelServer, w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		chunk := []byte("data: " + strings.Repeat("x", 64<<10))
		for s.written.Load() < most && r.Context().Err() == nil {
			n, err := w.Write(chunk)
			if s.written.Add(int64(n)); err != nil {
				return
			}
		}
	})
	if err != nil {
		return "", err
	}
	defer s.stop()
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	if err := m.Parts.Post(ctx, s.url, key); err == nil || s.written.Load() >= most {
		return "a line without an end is read for ever", nil
	}
	return "", nil
}

// modelServers attacks L1.
func (m *Machine) modelServers(ctx context.Context) audit.Result {
	for _, url := range []string{"https://models.example.com/v1", "http://127.0.0.1:11434"} {
		if err := m.Parts.BaseURL(url); err != nil {
			return noControl(err.Error())
		}
	}
	urls := []string{"http://models.example.com/v1", "ftp://models.example.com", "file:///etc/passwd", "https://user:pass@models.example.com", "//models.example.com", "http://192.168.0.1/"}
	for _, url := range urls {
		if m.Parts.BaseURL(url) == nil {
			return audit.Break(audit.BuiltIn, "a key would be sent to %s", url)
		}
	}
	if err := m.Parts.Bound([]byte(`{"a":[1,2,{"b":"c"}]}`)); err != nil {
		return noControl(err.Error())
	}
	deep := strings.Repeat("[", 200_000) + strings.Repeat("]", 200_000)
	packed := "[" + strings.Repeat("{},", 4<<20) + "{}]"
	for _, answer := range []string{deep, packed} {
		if m.Parts.Bound([]byte(answer)) == nil {
			return audit.Break(audit.BuiltIn, "an answer of %d bytes that takes far more memory is decoded", len(answer))
		}
	}
	broken, err := m.hostileServers(ctx)
	if err != nil {
		return noStart(err)
	}
	if broken != "" {
		return audit.Break(audit.BuiltIn, "%s", broken)
	}
	return audit.Hold(audit.BuiltIn, "%d addresses were refused for keys, 4 redirects took no key along, and answers that are deep, packed or without an end were refused", len(urls))
}
