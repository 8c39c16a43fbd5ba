package hostile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// has returns nil if this process has what the value names.
func has(what string) error {
	switch what {
	case AllCalls:
		return allCalls()
	case Disks:
		return disks()
	case Processors:
		return processors()
	}
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	fields := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		name, values, _ := strings.Cut(line, ":")
		fields[name] = strings.Fields(values)
	}
	switch what {
	case Capabilities:
		for _, name := range []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"} {
			if set := strings.Join(fields[name], ""); strings.Trim(set, "0") != "" || set == "" {
				return nil
			}
		}
		return errors.New("all sets are empty")
	case NewPrivileges:
		if !slices.Equal(fields["NoNewPrivs"], []string{"1"}) {
			return nil
		}
		return errors.New("NoNewPrivs is 1")
	case Root:
		for _, name := range []string{"Uid", "Gid", "Groups"} {
			if slices.Contains(fields[name], "0") {
				return nil
			}
		}
		return fmt.Errorf("it is user %s", strings.Join(fields["Uid"], " "))
	}
	return fmt.Errorf("what is %q?", what)
}

// allCalls makes a system call that every program can make, unless a filter refuses it: container
// daemons do by default.
func allCalls() error {
	_, err := unix.AddKey("user", "perstack-audit", []byte("x"), unix.KEY_SPEC_PROCESS_KEYRING)
	return err
}

// disks looks for block devices.
func disks() error {
	entries, err := os.ReadDir("/dev")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Type()&fs.ModeDevice != 0 && e.Type()&fs.ModeCharDevice == 0 {
			return nil
		}
	}
	return errors.New("there are none")
}

// processors asks the kernel for the quota of the control group.
func processors() error {
	for name, unlimited := range map[string]string{"/sys/fs/cgroup/cpu.max": "max", "/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1"} {
		text, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		quota, _, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
		if quota == unlimited {
			return nil
		}
		return fmt.Errorf("the quota is %s", quota)
	}
	return errors.New(NoQuota)
}
