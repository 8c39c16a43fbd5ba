package server

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/perstack-go/perstack/internal/registry/tlog"
)

// A Cosigned asks for a checkpoint that witnesses have cosigned.
type Cosigned struct {
	Witnesses []string // their names with the numbers of their keys, as [tlog.Witness.ID] writes them
	Count     int      // how many of them; 0 asks for nothing
	From      int64    // size that the checkpoint must have at least
}

// maxWitnesses bounds what can be asked for. A signed note has at most 100 signatures.
const maxWitnesses = 64

func (c Cosigned) check() error {
	if c.Count < 0 || c.Count > len(c.Witnesses) || len(c.Witnesses) > maxWitnesses {
		return badRequest("Ask for the cosignatures of at most %d witnesses, and not for more than there are", maxWitnesses)
	}
	return nil
}

// cosigned returns the newest checkpoint that enough witnesses have cosigned, and whether there is one.
func (l *look) cosigned(log string, want Cosigned) (h head, ok bool, err error) {
	if want.Count == 0 {
		return h, false, nil
	}
	in, args := among(want.Witnesses)
	n := len(args)
	query := fmt.Sprintf("SELECT size FROM cosignatures WHERE witness%s AND log = $%d AND size >= $%d GROUP BY size HAVING COUNT(*) >= $%d ORDER BY size DESC LIMIT 1", in, n+1, n+2, n+3)
	h.log = log
	if ok, err = l.one(query, append(args, log, want.From, want.Count), &h.size); err != nil || !ok {
		return h, false, err
	}
	if ok, err = l.one("SELECT note FROM log_heads WHERE log = $1 AND size = $2", []any{log, h.size}, &h.note); err == nil && ok {
		err = l.attach(&h)
	}
	return h, ok, err
}

// attach adds the cosignatures to a checkpoint.
func (l *look) attach(h *head) error {
	return l.each("SELECT line FROM cosignatures WHERE log = $1 AND size = $2 ORDER BY witness", []any{h.log, h.size}, func(scan func(...any) error) error {
		var line string
		err := scan(&line)
		h.note = append(h.note, line...)
		return err
	})
}

// Newest returns the newest state of the log, and the checkpoint that says so.
func (r *Registry) Newest(ctx context.Context) (at tlog.Checkpoint, signed []byte, err error) {
	err = r.view(ctx, func(l *look) error {
		h, err := l.head(r.opts.Origin)
		if err != nil {
			return err
		}
		root, err := tlog.Root(h.size, l.hashes(h.log))
		at, signed = tlog.Checkpoint{Origin: h.log, Size: h.size, Hash: root}, h.note
		return err
	})
	return at, signed, err
}

// AddCosignature stores that a witness has cosigned the checkpoint of a size. Answers against that checkpoint
// have it from then on.
func (r *Registry) AddCosignature(ctx context.Context, size int64, by *tlog.Witness, line string) error {
	return r.update(ctx, func(t *change) error {
		log := t.r.opts.Origin
		var signed []byte
		ok, err := t.one("SELECT note FROM log_heads WHERE log = $1 AND size = $2", []any{log, size}, &signed)
		if err != nil {
			return err
		}
		if !ok {
			return fmt.Errorf("the log has no checkpoint of the size %d", size)
		}
		found := tlog.Cosignatures(append(signed, line...), by)
		if len(found) == 0 {
			return errors.New("it is not a cosignature of this witness on this checkpoint")
		}
		return t.exec("INSERT INTO cosignatures (log, size, witness, key, line) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING", log, size, by.ID(), by.String(), found[0].Line)
	})
}

// cosignatures verifies what witnesses have signed.
func (v *verification) cosignatures() error {
	return v.each("SELECT c.log, c.size, c.witness, c.key, c.line, h.note FROM cosignatures c LEFT JOIN log_heads h ON h.log = c.log AND h.size = c.size ORDER BY c.log, c.size, c.witness", nil, func(scan func(...any) error) error {
		var log, witness, key, line string
		var size int64
		var signed []byte
		if err := scan(&log, &size, &witness, &key, &line, &signed); err != nil {
			return err
		}
		what := fmt.Sprintf("cosignature of %s on checkpoint %d of %s", witness, size, log)
		switch w, err := tlog.ParseWitness(key); {
		case err != nil:
			v.report.add(what, "%v", err)
		case w.ID() != witness || !strings.HasSuffix(line, "\n") || strings.Count(line, "\n") != 1:
			v.report.add(what, "it is damaged")
		case len(tlog.Cosignatures(append(signed, line...), w)) == 0:
			v.report.add(what, "it is not valid for this checkpoint")
		}
		return nil
	})
}
