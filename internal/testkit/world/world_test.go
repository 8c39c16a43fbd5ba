package world

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/perstack-go/perstack/internal/testkit/daemon"
	"github.com/perstack-go/perstack/internal/testkit/world/outside"
)

// A container on the network of the world finds names, a web server and a ready model,
// and the world saw it. Without this, a test that asserts that there were no connections would prove
// nothing.
func TestTheWorldSees(t *testing.T) {
	w := Start(t)
	host := w.LLM(t, "[[turn]]\ntext = \"hi\"\n")
	asker := daemon.Program(t, "./internal/testkit/world/visitor")
	image := daemon.Image(t, map[string]string{"/visitor": asker})
	api := daemon.Need(t)
	created, err := api.ContainerCreate(t.Context(), client.ContainerCreateOptions{
		Name:       daemon.Name(t),
		Config:     &container.Config{Image: image, Entrypoint: []string{"/visitor", "x.open.test", host, "y.blocked.test", w.Trap.String()}},
		HostConfig: &container.HostConfig{NetworkMode: container.NetworkMode(w.Network), DNS: []netip.Addr{netip.MustParseAddr(w.DNS)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	daemon.RemoveContainer(t, api, created.ID)
	wait := api.ContainerWait(t.Context(), created.ID, client.ContainerWaitOptions{Condition: container.WaitConditionNextExit})
	if _, err := api.ContainerStart(t.Context(), created.ID, client.ContainerStartOptions{}); err != nil {
		t.Fatal(err)
	}
	select {
	case end := <-wait.Result:
		if end.StatusCode != 0 {
			t.Errorf("the visitor ended with %d", end.StatusCode)
		}
	case err := <-wait.Error:
		t.Fatal(err)
	}
	seen := w.Seen(t)
	for name, want := range map[string]outside.Entry{
		"question":       {Where: outside.RoleDNS, Kind: outside.KindQuery, Name: "x.open.test", Type: "A"},
		"hello":          {Where: outside.RoleWeb, Kind: outside.KindHello, Name: "x.open.test", Port: 443},
		"request":        {Where: outside.RoleWeb, Kind: outside.KindRequest, Name: "x.open.test", Port: 443},
		"model":          {Where: outside.RoleLLM, Kind: outside.KindRequest, Name: host, Port: 443},
		"trap by name":   {Where: outside.RoleTrap, Kind: outside.KindHello, Name: "y.blocked.test", Port: 443},
		"trap by packet": {Where: outside.RoleTrap, Kind: outside.KindPacket, Port: 443},
		"trap by bytes":  {Where: outside.RoleTrap, Kind: outside.KindBytes, Port: 443},
	} {
		if !slices.ContainsFunc(seen, func(e outside.Entry) bool {
			return e.Where == want.Where && e.Kind == want.Kind && e.Name == want.Name && (want.Type == "" || e.Type == want.Type) && (want.Port == 0 || e.Port == want.Port)
		}) {
			t.Errorf("the world did not see the %s", name)
		}
	}
	if t.Failed() {
		for _, e := range seen {
			t.Logf("%+v", e)
		}
	}
}
