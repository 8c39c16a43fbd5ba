package disk

import (
	"testing"
	"time"
)

const gib = 1 << 30

// hundred is a file system of 100 GiB with so much left.
func hundred(free int64) space {
	return space{id: 1, tells: true, total: 100 * gib, free: free, left: free, files: 1000}
}

func observing(limit, free int64) *observer {
	o := &observer{volumes: make(map[uint64]*volume), allowance: tally{limit, 500}}
	o.add("/ws", hundred(free))
	return o
}

// fall is a look at a file system that changed.
func (o *observer) fall(by int64) {
	v := o.volumes[1]
	o.net += by
	o.fallen.bytes += max(0, by)
	v.last.free -= by
}

// The files are measured when the free space fell by half of what may still be added. What rose
// meanwhile does not make up for it.
func TestMustMeasure(t *testing.T) {
	limits := Limits{Bytes: 4 * gib, Files: 500}
	o := observing(limits.Bytes, 50*gib)
	o.fall(2*gib - 1)
	if o.mustMeasure(limits) {
		t.Error("too early")
	}
	o.fall(-10 * gib)
	o.fall(1)
	if !o.mustMeasure(limits) {
		t.Error("too late")
	}
	o.measured, o.grown.bytes = o.fallen, 3*gib
	o.fall(gib/2 - 1)
	if o.mustMeasure(limits) {
		t.Error("the second time too early")
	}
	o.fall(1)
	if !o.mustMeasure(limits) {
		t.Error("the second time too late")
	}
	o.measured, o.grown.bytes = o.fallen, 5*gib // over the limit, and nothing changes
	if o.mustMeasure(limits) {
		t.Error("nothing changed")
	}
	o.fallen.files = 250
	if !o.mustMeasure(limits) {
		t.Error("files do not count")
	}
	if o.mustMeasure(Limits{}) {
		t.Error("without limits")
	}
	o = observing(limits.Bytes, 50*gib)
	o.volumes[1].last.tells = false
	if !o.mustMeasure(limits) {
		t.Error("a file system that does not say what is free is not measured")
	}
	o.checked = time.Now().Add(time.Hour)
	if o.mustMeasure(limits) {
		t.Error("and it is measured all the time")
	}
}

// A disk has to keep 1 GiB or 2 percent, whichever is less. One that has less keeps half of it.
func TestFloor(t *testing.T) {
	for _, tt := range []struct{ total, left, want int64 }{
		{1000 * gib, 500 * gib, gib},
		{10 * gib, 5 * gib, 10 * gib / 50},
		{1000 * gib, gib / 2, gib / 4},
		{0, 0, 0},
	} {
		o := observing(gib, gib)
		o.add("/ws", space{id: 7, tells: true, total: tt.total, left: tt.left})
		if got := o.volumes[7].floor; got != tt.want {
			t.Errorf("%+v: %d", tt, got)
		}
	}
	o := observing(gib, gib)
	o.add("/tmp", space{id: 8, tells: true, small: true, total: 16 << 20, left: 16 << 20})
	if got := o.volumes[8].floor; got != 0 {
		t.Errorf("a small file system in memory has to keep %d bytes", got)
	}
}

func TestInterval(t *testing.T) {
	o := observing(gib, gib)
	for id := range uint64(5) {
		o.add("/ws", space{id: id})
		if perSecond := float64(len(o.volumes)) / o.interval().Seconds(); perSecond > 10 {
			t.Errorf("%d file systems: %g calls a second", len(o.volumes), perSecond)
		}
	}
}

func TestGrowth(t *testing.T) {
	fallen := tally{50, 5}
	for _, tt := range []struct {
		found finding
		net   int64
		want  tally
	}{
		{finding{tally{40, 4}, tally{0, 0}, true}, 90, tally{40, 4}},
		{finding{tally{40, 4}, tally{200, 20}, true}, 90, tally{50, 5}}, // touched, and not written
		{finding{tally{40, 4}, tally{3, 1}, true}, 0, tally{43, 5}},
		{finding{tally{70, 9}, tally{3, 1}, true}, 0, tally{70, 9}}, // something else was deleted meanwhile
		{finding{tally{40, 4}, tally{}, false}, 90, tally{90, 4}},
		{finding{tally{40, 4}, tally{}, false}, -90, tally{40, 4}},
	} {
		if got := tt.found.growth(fallen, tt.net); got != tt.want {
			t.Errorf("%+v: %+v", tt, got)
		}
	}
}

// A look comes sooner while the disk fills up, and at the usual time otherwise.
func TestPause(t *testing.T) {
	o := observing(4*gib, 50*gib)
	for _, tt := range []struct {
		fallen, fell int64
		want         time.Duration
	}{
		{0, 0, interval},
		{0, -gib, interval},
		{gib / 100, gib / 100, interval},
		{2 * gib, 2 * gib, interval / 2},
		{4 * gib, gib, shortest},
	} {
		o.fallen.bytes = tt.fallen
		if got := o.pause(tt.fell, interval); got != tt.want {
			t.Errorf("%+v: %s", tt, got)
		}
	}
	o.allowance.bytes = 0
	if got := o.pause(gib, interval); got != interval {
		t.Errorf("without a limit: %s", got)
	}
}

// What stopped programs leave is measured when they are gone. Before that, the files that they hold
// would raise what the next ones can add.
func TestSettling(t *testing.T) {
	processes, stops := []int{7, 8}, 0
	w := &Watch{Limits: Limits{Bytes: 4 * gib}, Processes: func() []int { return processes }, Exceeded: func(Excess) { stops++ }}
	o := observing(w.Limits.Bytes, 50*gib)
	delete(o.volumes, 1) // there is no such directory
	o.exceed(w, tooManyBytes(5*gib, 4*gib))
	processes = []int{8, 9}
	if o.look(w); !o.settling || stops != 1 {
		t.Errorf("settling %v after %d stops, while a program that was stopped still runs", o.settling, stops)
	}
	processes = []int{9}
	if o.look(w); o.settling || stops != 1 {
		t.Errorf("settling %v after %d stops, when all programs that were stopped are gone", o.settling, stops)
	}
	processes = []int{9}
	o.exceed(w, tooManyBytes(5*gib, 4*gib))
	o.patience = time.Now().Add(-1)
	if o.look(w); o.settling {
		t.Error("a program that cannot be killed is waited for without end")
	}
}
