// Command worldd is a server of the internet that tests make for themselves. Everything
// is in package outside.
package main

import (
	"context"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"os/signal"
	"syscall"

	"github.com/perstack-go/perstack/internal/testkit/world/outside"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "worldd:", err)
		os.Exit(1)
	}
}

func run() error {
	o := outside.Options{Out: os.Stdout}
	address := func(to *netip.Addr) func(string) error {
		return func(s string) (err error) {
			*to, err = netip.ParseAddr(s)
			return err
		}
	}
	flag.StringVar(&o.Role, "role", "", "dns, web, trap, llm or relay")
	flag.StringVar(&o.Dir, "dir", "/world", "directory with the authority and the scripts")
	flag.Func("web", "address of the web server", address(&o.Places.Web))
	flag.Func("llm", "address of the model's service", address(&o.Places.LLMAddr))
	flag.Func("relay", "address of the relay", address(&o.Places.Relay))
	flag.Func("trap", "address of the trap", address(&o.Places.Trap))
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	syncs := make(chan os.Signal, 16)
	signal.Notify(syncs, syscall.SIGHUP) // the one that every system knows
	o.Sync = syncs
	return outside.Serve(ctx, o)
}
