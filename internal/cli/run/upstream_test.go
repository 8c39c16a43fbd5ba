package run

import (
	"bytes"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/cli/host"
)

func TestCheckUpstream(t *testing.T) {
	for name, c := range map[string]struct {
		address string
		environ []string
		refused string // part of the error
		said    string // part of what is printed
	}{
		"none":               {},
		"a usual proxy":      {environ: []string{"https_proxy=http://proxy.corp:3128"}, said: "set PERSTACK_PROXY_URL"},
		"a proxy":            {address: "http://me:hunter22@proxy.corp:3128", said: "through the proxy proxy.corp:3128,"},
		"no URL":             {address: "hunter22@:::", refused: "is not a URL"},
		"another kind":       {address: "socks5://proxy.corp:1080", refused: "the kind socks5"},
		"on this machine":    {address: "http://localhost:3128", refused: "on this machine"},
		"by its old address": {address: "http://0x7f.1:3128", refused: "on this machine"},
		"no port":            {address: "http://me:hunter22@proxy.corp", refused: "PERSTACK_PROXY_URL: the upstream proxy is given without a valid port"},
		"port zero":          {address: "http://me:hunter22@proxy.corp:0", refused: "without a valid port"},
		"a path":             {address: "http://me:hunter22@proxy.corp:3128/way", refused: "PERSTACK_PROXY_URL: the upstream proxy is not given as http://host:port"},
		"a colon in a name":  {address: "http://m%3Ae:hunter22@proxy.corp:3128", refused: "PERSTACK_PROXY_URL: the user name of the upstream proxy must not have a colon"},
	} {
		t.Run(name, func(t *testing.T) {
			var errs bytes.Buffer
			s := &setup{opts: &Options{Host: &host.Host{Stderr: &errs, Environ: c.environ}}}
			err := s.checkUpstream(c.address)
			if (err == nil) != (c.refused == "") || err != nil && (!strings.Contains(err.Error(), c.refused) || host.ExitCode(err) != host.ExitUsage) {
				t.Errorf("%v", err)
			}
			if got := errs.String(); !strings.Contains(got, c.said) || c.said == "" && got != "" || strings.Contains(got, "hunter22") {
				t.Errorf("printed %q", got)
			}
			if err != nil && strings.Contains(err.Error(), "hunter22") {
				t.Errorf("it shows the password: %v", err)
			}
		})
	}
}
