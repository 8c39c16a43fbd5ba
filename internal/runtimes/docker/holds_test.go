package docker

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/runtimes/docker/api"
)

// That a daemon answers to a pinned name is not enough: what it has must be what was pinned.
func TestWhatAnEngineHoldsIsCompared(t *testing.T) {
	good, evil := "sha256:"+strings.Repeat("1", 64), "sha256:"+strings.Repeat("2", 64)
	for name, test := range map[string]struct {
		asked       reference
		id, digests string
		want        string
	}{
		"the id":         {reference{id: good}, good, ``, good},
		"another id":     {reference{id: good}, evil, ``, ""},
		"the digest":     {reference{name: "x", digest: good}, evil, `"x@` + good + `"`, evil},
		"another digest": {reference{name: "x", digest: good}, evil, `"x@` + evil + `"`, ""},
		"no digest":      {reference{name: "x", digest: good}, evil, ``, ""},
	} {
		t.Run(name, func(t *testing.T) {
			socket := filepath.Join(shortDir(t), "s")
			l, err := net.Listen("unix", socket)
			if err != nil {
				t.Fatal(err)
			}
			server := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Api-Version", "1.41")
				if strings.Contains(r.URL.Path, "/images/") {
					fmt.Fprintf(w, `{"Id":%q,"RepoDigests":[%s]}`, test.id, test.digests)
				}
			})}}
			server.Start()
			defer server.Close()
			client, err := api.New("unix://" + socket)
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			d := &Daemon{api: client}
			if got, err := d.holds(t.Context(), test.asked); got != test.want || err != nil {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}
