package docker

import (
	"context"
	"io"

	"github.com/perstack-go/perstack/event"
)

// load sends the image to the daemon while it is being written: the program is never in
// memory, however large it is.
func (d *Daemon) load(ctx context.Context, p *plan, report func(event.Body)) error {
	r, w := io.Pipe()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		w.CloseWithError(p.image.Write(meter(w, sendingImage, p.layer.Size, report), p.tag(), p.layer.Layer))
	}()
	err := d.api.Load(ctx, r)
	// The writer reads the program and reports: neither after this.
	r.Close()
	<-sent
	return err
}

// sendingImage is what is done with our own layer, for people.
const sendingImage = "sending the image"

// manyBytes take long enough for the user to want to see each tenth.
const manyBytes = 256 << 20

// meter reports that something is done, and of much data how much went through it, in tenths.
// Each report is kept in the history of the run, so there are few.
func meter(w io.Writer, doing string, size int64, report func(event.Body)) io.Writer {
	return &metered{w: w, doing: doing, size: max(size, 1), report: report}
}

type metered struct {
	w      io.Writer
	doing  string
	size   int64
	sent   int64
	next   int64 // tenth to be reported
	report func(event.Body)
}

func (m *metered) Write(p []byte) (int, error) {
	if m.next == 0 {
		m.tell(0)
	}
	n, err := m.w.Write(p)
	m.sent += int64(n)
	// The last tenth is the daemon's: it has everything, but has not kept it yet.
	for err == nil && m.size >= manyBytes && m.next < 10 && m.sent*10 >= m.next*m.size {
		m.tell(m.next)
	}
	return n, err
}

func (m *metered) tell(tenth int64) {
	m.report(share("building", m.doing, tenth*m.size/10, m.size, float64(tenth)/10))
	m.next = tenth + 1
}
