package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
)

// eraseEnvironment overwrites the block of variables that the kernel put on our stack,
// and shows in /proc/self/environ. Package os has copies of them.
//
// Without /proc there is no such file to read it in, and the kernel refuses to show the
// memory of a process that is not dumpable: then this is left out. With /proc, a block
// that stays readable is an error.
func eraseEnvironment() error {
	stat, err := os.ReadFile("/proc/self/stat")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = eraseBlock(stat)
	}
	if err != nil {
		return fmt.Errorf("overwrite the environment of this process: %w", err)
	}
	return nil
}

func eraseBlock(stat []byte) error {
	from, to, err := environmentBlock(stat)
	if err != nil {
		return err
	}
	if to > from {
		memory, err := os.OpenFile("/proc/self/mem", os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = memory.WriteAt(make([]byte, to-from), from)
		if err = errors.Join(err, memory.Close()); err != nil {
			return err
		}
	}
	left, err := os.ReadFile("/proc/self/environ")
	if err != nil {
		return err
	}
	if len(bytes.Trim(left, "\x00")) > 0 {
		return errors.New("it can still be read")
	}
	return nil
}

// environmentBlock finds the addresses: fields 50 and 51 of proc_pid_stat(5).
func environmentBlock(stat []byte) (from, to int64, err error) {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]) // the first is field 3
	if len(fields) < 49 {
		return 0, 0, errors.New("the kernel does not say where it is")
	}
	from, err = strconv.ParseInt(string(fields[47]), 10, 64)
	if err == nil {
		to, err = strconv.ParseInt(string(fields[48]), 10, 64)
	}
	if err != nil || to < from || to-from > 64<<20 {
		return 0, 0, errors.New("the kernel does not say where it is")
	}
	return from, to, nil
}
