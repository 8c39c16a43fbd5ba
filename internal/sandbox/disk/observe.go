package disk

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// A space is what a file system has at one moment.
type space struct {
	id    uint64 // tells file systems apart
	tells bool   // whether it says how much is free
	small bool   // in memory, and of a size that programs can fill
	total int64  // bytes
	free  int64  // bytes, with those reserved for root
	left  int64  // bytes that this user can still write
	files int64  // that can still be made; 0 if the file system does not say
}

// A volume is a watched file system.
type volume struct {
	root  string // a directory on it
	last  space
	floor int64 // bytes that have to be left
}

// An observer is what a [Watch] knows about the disk. One goroutine uses it at a time.
type observer struct {
	volumes map[uint64]*volume

	fallen    tally // by how much the free space fell in all, not counting when it rose
	measured  tally // the same, at the last measurement
	net       int64 // by how much the free space fell, less by how much it rose
	grown     tally // what programs have added, at the last measurement
	allowance tally // what they can have added; more than the limit after it was exceeded
	settling  bool  // programs were just stopped: what they leave is measured when they are gone
	dying     []int // their processes
	patience  time.Time
	aborted   bool // a measurement was given up, because the disk filled up meanwhile
	checked   time.Time
}

// A tally is a number of bytes and of files.
type tally struct{ bytes, files int64 }

// resume begins to watch again. What happened while no program ran does not count.
func (o *observer) resume(w *Watch) {
	if o.volumes == nil {
		o.volumes = make(map[uint64]*volume)
		o.allowance = tally{w.Limits.Bytes, w.Limits.Files}
	}
	for root, s := range w.started() {
		o.add(root, s)
	}
}

// started returns the file systems as they were when the first running program started.
func (w *Watch) started() map[string]space {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.begun)
}

func (o *observer) add(root string, s space) {
	floor := min(minLeft, s.total/minLeftPart)
	switch {
	case s.small: // such as /tmp of a container: its size is the limit, and the kernel enforces it
		floor = 0
	case s.left < floor:
		floor = s.left / 2 // it was full before; programs can delete, but not take the rest
	}
	o.volumes[s.id] = &volume{root: root, last: s, floor: floor}
}

func (o *observer) interval() time.Duration {
	return max(interval, time.Duration(len(o.volumes))*perVolume)
}

// pause is the time until the next look. While the free space falls so fast that too much could be
// written until then, it is shorter.
func (o *observer) pause(fell int64, in time.Duration) time.Duration {
	rest := o.allowance.bytes - o.grown.bytes - (o.fallen.bytes - o.measured.bytes)
	if fell <= 0 || o.allowance.bytes == 0 {
		return o.interval()
	}
	half := time.Duration(float64(in) * float64(max(0, rest)) / float64(2*fell))
	return min(o.interval(), max(shortest, half))
}

// look reads the free space, and measures if it fell by too much.
func (o *observer) look(w *Watch) {
	for root, s := range w.started() { // of programs that started meanwhile
		if o.volumes[s.id] == nil {
			o.add(root, s)
		}
	}
	if excess, low := o.read(w); low {
		o.exceed(w, excess)
		return
	}
	if o.settling && o.isAlive(w) || !o.settling && !o.mustMeasure(w.Limits) {
		return
	}
	o.measure(w)
}

// exceed has the programs stopped.
func (o *observer) exceed(w *Watch, e Excess) {
	o.settling, o.dying, o.patience = true, w.Processes(), time.Now().Add(killTime)
	w.Exceeded(e)
}

// killTime is how long programs may take to end after they were killed. One that does not end
// cannot be waited for.
const killTime = 2 * time.Second

// isAlive reports whether programs that were stopped still hold their files. If these counted as
// left behind, as much could be added again without another stop.
func (o *observer) isAlive(w *Watch) bool {
	if time.Now().After(o.patience) {
		return false
	}
	now := w.Processes()
	return slices.ContainsFunc(o.dying, func(pid int) bool { return slices.Contains(now, pid) })
}

// read reads the free space of all file systems, and reports whether one has too little left.
func (o *observer) read(w *Watch) (e Excess, low bool) {
	for _, v := range o.volumes {
		now, err := w.free(v.root)
		if err != nil || now.id != v.last.id {
			continue // the directory was removed, or something was mounted over it
		}
		o.net += v.last.free - now.free
		o.fallen.bytes += max(0, v.last.free-now.free)
		o.fallen.files += max(0, v.last.files-now.files)
		worse := now.free < v.last.free
		v.last = now
		if now.tells && now.left < v.floor && worse && !o.settling {
			e, low = tooLittleLeft(now.left, v.floor), true
		}
	}
	return e, low
}

// mustMeasure reports whether the free space fell by half of what may still be added. Where a
// file system does not say how much is free, everything is measured about every second.
func (o *observer) mustMeasure(limits Limits) bool {
	for _, v := range o.volumes {
		if !v.last.tells && time.Since(o.checked) >= 4*interval {
			return true
		}
	}
	half := func(limit, fallen, measured, allowed, grown int64) bool {
		return limit > 0 && fallen-measured >= max(1, limit/finest, (allowed-grown)/2)
	}
	return half(limits.Bytes, o.fallen.bytes, o.measured.bytes, o.allowance.bytes, o.grown.bytes) ||
		half(limits.Files, o.fallen.files, o.measured.files, o.allowance.files, o.grown.files)
}

// measure measures the files, and says if they are too many or too large.
func (o *observer) measure(w *Watch) {
	o.aborted = false
	before := o.fallen
	found := w.measure(o.mustStop(w))
	o.measured, o.checked = before, time.Now()
	o.grown = found.growth(o.fallen, o.net)
	if o.settling {
		o.settling = false
		o.allowance.bytes = max(w.Limits.Bytes, o.grown.bytes+w.Limits.Bytes/slack)
		o.allowance.files = max(w.Limits.Files, o.grown.files+w.Limits.Files/slack)
		return
	}
	var e Excess
	switch {
	case w.Limits.Bytes > 0 && o.grown.bytes > o.allowance.bytes:
		e = tooManyBytes(o.grown.bytes, w.Limits.Bytes)
	case w.Limits.Files > 0 && o.grown.files > o.allowance.files:
		e = tooManyFiles(o.grown.files, w.Limits.Files)
	default: // less is allowed again when something was deleted
		o.allowance.bytes = max(w.Limits.Bytes, min(o.allowance.bytes, o.grown.bytes+w.Limits.Bytes/slack))
		o.allowance.files = max(w.Limits.Files, min(o.allowance.files, o.grown.files+w.Limits.Files/slack))
		return
	}
	o.exceed(w, e)
}

// mustStop returns a function that a measurement asks now and then. It reports whether there is no
// time for it: the disk fills up faster than files can be counted.
func (o *observer) mustStop(w *Watch) func() bool {
	next := time.Now().Add(interval)
	return func() bool {
		if o.settling || o.aborted || time.Now().Before(next) {
			return o.aborted
		}
		next = time.Now().Add(interval)
		_, low := o.read(w)
		o.aborted = low || w.Limits.Bytes > 0 && o.net > o.allowance.bytes+o.allowance.bytes/4
		return o.aborted
	}
}

// A finding is what a measurement found.
type finding struct {
	fresh    tally // files made since the job started
	changed  tally // files that changed since, and existed before or may have
	complete bool  // everything could be read
}

// growth is what programs have added. Files that existed before and changed count as far as the
// free space fell: that they were touched adds nothing. What could not be measured counts as that
// fall, too.
func (f *finding) growth(fallen tally, net int64) (t tally) {
	t.bytes = f.fresh.bytes + min(f.changed.bytes, max(0, fallen.bytes-f.fresh.bytes))
	t.files = f.fresh.files + min(f.changed.files, max(0, fallen.files-f.fresh.files))
	if !f.complete {
		t.bytes = max(t.bytes, net)
	}
	return t
}

func (f *finding) add(bytes int64, fresh bool) {
	t := &f.changed
	if fresh {
		t = &f.fresh
	}
	t.bytes += bytes
	t.files++
}

// An ID tells files apart.
type ID struct{ Dev, Ino uint64 }

// A File is a file without a name that a process keeps open or mapped.
type File struct {
	Bytes    int64
	InMemory bool // it takes memory, not a disk
	Made     time.Time
}

// Open are the files without a name that processes keep.
type Open struct {
	Files    map[ID]File
	Complete bool // all files of all processes could be seen
}

// after reports whether a file was made after a moment. A file system need not say when.
func (f File) after(since time.Time) bool { return !f.Made.IsZero() && !f.Made.Before(since) }

// bound is the number of files that can be counted: more is not needed for any limit.
func bound(limit int64) int64 { return cmp.Or(limit, DefaultFiles) * 4 }
