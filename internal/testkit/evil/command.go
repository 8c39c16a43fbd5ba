package evil

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/go-json-experiment/json"
)

// Command is the program evilmcp: it serves a mode on the streams, or carries out an
// attack as a plain command, and returns the exit code.
func Command(ctx context.Context, args []string, in io.Reader, out, log io.Writer) int {
	err := command(ctx, args, in, out, log)
	var death *DeathError
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, &death) && death.Killed:
		err = dieBySignal()
	case errors.As(err, &death):
		return death.Code
	}
	fmt.Fprintln(log, "evilmcp:", err)
	return 1
}

func command(ctx context.Context, args []string, in io.Reader, out, log io.Writer) error {
	o := Options{In: in, Out: out, Log: log}
	flags := flag.NewFlagSet("evilmcp", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.Usage = func() { usage(out, flags) }
	flags.IntVar(&o.N, "n", 0, "how many, how deep or which call")
	flags.IntVar(&o.MiB, "mib", 0, "how big")
	flags.DurationVar(&o.Pause, "pause", 0, "between the bytes of mode slow")
	flags.StringVar(&o.State, "state", "", "`file` of mode rug-pull")
	flags.StringVar(&o.File, "file", "", "`file` of daemonise and forkbomb, locked while they live")
	flags.StringVar(&o.Dir, "dir", "", "`directory` of race")
	flags.StringVar(&o.Marker, "marker", "", "hunt repeats what contains this `text`; the rest is counted")
	flags.IntVar(&o.Levels, "levels", 0, "how far up hunt goes, from a process to its parent")
	flags.BoolVar(&o.Everywhere, "everywhere", false, "hunt looks at all processes")
	flags.Func("target", "`URL` that probe tries to reach; may be given again", func(s string) error {
		o.Targets = append(o.Targets, s)
		return nil
	})
	flags.Func("network", "`prefix` that probe may reach beside this machine; may be given again", func(s string) error {
		network, err := netip.ParsePrefix(s)
		o.Networks = append(o.Networks, network)
		return err
	})
	// The mode comes first, as in a list of arguments that somebody writes by hand.
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		o.Mode, args = args[0], args[1:]
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.Mode == "" {
		usage(out, flags)
		return errors.New("no mode given")
	}
	var err error
	if o.Self, err = os.Executable(); err != nil {
		return err
	}
	if o.Home, err = os.UserHomeDir(); err != nil {
		o.Home = "" // a skill may have none
	}
	act, known := acts()[o.Mode]
	switch {
	case !known || flags.NArg() == 0:
		return Serve(ctx, o)
	case flags.NArg() < act.operands:
		return fmt.Errorf("usage: evilmcp %s", act.usage)
	}
	return act.do(ctx, o, flags.Args())
}

// An act is an attack without a protocol around it, for a tool that runs commands. It is
// told from the mode of its name by having operands.
type act struct {
	usage    string
	doc      string // "" for what only our own processes call
	operands int
	do       func(ctx context.Context, o Options, args []string) error
}

func acts() map[string]act {
	return map[string]act{
		"hunt": {"hunt now", "prints what a hunt found, as JSON", 1, func(ctx context.Context, o Options, _ []string) error {
			return show(o.Out, Hunt(ctx, o.hunt()))
		}},
		"probe": {"probe URL…", "prints which targets were reached, as JSON", 1, func(ctx context.Context, o Options, args []string) error {
			return show(o.Out, ProbeAll(ctx, args, o.Networks))
		}},
		"daemonise": {"daemonise FILE", "leaves a process behind", 1, func(ctx context.Context, o Options, args []string) error {
			return Daemonise(ctx, o.Self, args[0])
		}},
		"forkbomb": {"forkbomb N FILE", "leaves N processes behind", 2, func(ctx context.Context, o Options, args []string) error {
			n, err := strconv.Atoi(args[0])
			if err != nil {
				return err
			}
			return ForkBomb(ctx, o.Self, args[1], n)
		}},
		"race": {"race DIR", "swaps DIR/a and DIR/b, a directory and a link, --n times", 1, func(ctx context.Context, o Options, args []string) error {
			return race(ctx, args[0], max(o.N, 1000))
		}},
		"fork-again": {"fork-again FILE", "", 1, func(_ context.Context, o Options, args []string) error { return forkAgain(o.Self, args[0]) }},
		"heartbeat":  {"heartbeat FILE", "", 1, func(ctx context.Context, _ Options, args []string) error { return Heartbeat(ctx, args[0]) }},
		"splinter": {"splinter FILE N", "", 2, func(ctx context.Context, o Options, args []string) error {
			n, err := strconv.Atoi(args[1])
			if err != nil {
				return err
			}
			return splinter(ctx, o.Self, args[0], n)
		}},
	}
}

func show(out io.Writer, value any) error {
	if err := json.MarshalWrite(out, value); err != nil {
		return err
	}
	_, err := io.WriteString(out, "\n")
	return err
}

func usage(out io.Writer, flags *flag.FlagSet) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(table, "evilmcp is an MCP server that misbehaves, for tests.\n\nusage: evilmcp MODE [flags]\n\nmodes:\n")
	for _, m := range Modes() {
		fmt.Fprintf(table, "  %s\t%s\n", m.Name, m.Doc)
	}
	fmt.Fprint(table, "\ncommands:\n")
	all := acts()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if all[name].doc != "" {
			fmt.Fprintf(table, "  %s\t%s\n", all[name].usage, all[name].doc)
		}
	}
	fmt.Fprint(table, "\nflags, before operands:\n")
	_ = table.Flush() // if the help cannot be written, neither can an error
	flags.PrintDefaults()
}
