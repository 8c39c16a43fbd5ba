package jobs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/internal/cli/files"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/history"
	"github.com/perstack-go/perstack/internal/jobarchive"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/wording"
)

// ExportOptions are what export works with.
type ExportOptions struct {
	Host   *host.Host
	Flags  files.Flags
	Job    string
	Output string // a file that does not exist
}

func newExport(h *host.Host, runF func(context.Context, *ExportOptions) error) *cobra.Command {
	opts := &ExportOptions{Host: h}
	if runF == nil {
		runF = export
	}
	cmd := &cobra.Command{
		Use:   "export <job> -o <file>",
		Short: "Write a job to a file, with the files that are stored for it",
		Long: `Write a job to a file that perstack jobs import reads: a tar.gz with a manifest, the records,
and the states of the workspace that are stored for the job. The same job always has the
same bytes.

The file contains the whole conversation and the files of the workspace, readable by anyone
who has it. Only the contents of env files are left out. It has the mode 0600, and an
existing file is not replaced. A job that is running must end first. An archive has at most
1 GiB of unpacked data and 100,000 files.`,
		Example: `  perstack jobs export <job> -o job.tar.gz
  perstack jobs export <job> -o job.tar.gz && perstack jobs rm <job>`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return host.Usagef("name one job; perstack jobs lists them")
			}
			return nil
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, start string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return completeJobs(h, &opts.Flags)(cmd, args, start)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if opts.Output == "" {
				return host.Usagef("say where the job is written to: -o <file>")
			}
			opts.Job = args[0]
			return runF(cmd.Context(), opts)
		},
	}
	opts.Flags.Add(cmd, false)
	cmd.Flags().StringVarP(&opts.Output, "output", "o", "", "the file to write, which must not exist")
	if err := cmd.MarkFlagFilename("output", "tar.gz", "tgz"); err != nil {
		panic(err) // the flag is defined above
	}
	return cmd
}

func export(ctx context.Context, opts *ExportOptions) error {
	h := opts.Host
	place, journals, err := opts.Flags.Open(h)
	if err != nil {
		return err
	}
	id, err := host.FindJob(ctx, journals, opts.Job, "perstack jobs lists them")
	if err != nil {
		return err
	}
	info, err := journals.FindJob(ctx, id)
	if err != nil {
		return err
	}
	if (history.Entry{Info: info}).Running() {
		return host.Usagef("job %s is running; wait until it has ended, or stop it", id)
	}
	path := h.Path(opts.Output)
	dir, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return host.Usagef("%w", err)
	}
	defer dir.Close()
	f, err := dir.OpenFile(filepath.Base(path), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return host.Usagef("%s exists already, and is not replaced; choose another name, or remove it", terminal.CleanLine(opts.Output))
	}
	if err != nil {
		return err
	}
	m, err := jobarchive.Write(ctx, f, journals, place.Files(), id)
	if err == nil {
		err = f.Sync()
	}
	size := int64(0)
	if info, failed := f.Stat(); failed == nil {
		size = info.Size()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(fmt.Errorf("export job %s: %w", id, err), dir.Remove(filepath.Base(path))) // a part of a job is of no use
	}
	_, err = fmt.Fprintf(h.Stdout, "Exported job %s to %s: %s, %s of stored files, %s\n",
		id, terminal.CleanLine(opts.Output), wording.Count(int(m.Records), "record"), wording.Count(m.Blobs, "part"), wording.Bytes(size))
	return err
}
