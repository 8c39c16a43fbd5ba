package server

import (
	"context"
	"errors"
	"slices"

	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/tlog"
)

// Resolve says what keys mean, with all that they delegate to, and proves it.
func (r *Registry) Resolve(ctx context.Context, by Actor, asked api.Resolve) (out api.Resolved, err error) {
	if len(asked.Keys) == 0 || len(asked.Keys) > api.MaxClosure {
		return out, badRequest("Ask for 1 to %d keys", api.MaxClosure)
	}
	want := Cosigned{asked.Witnesses, asked.Cosignatures, asked.From}
	if err := want.check(); err != nil {
		return out, err
	}
	err = r.view(ctx, func(l *look) error {
		h, ok, err := l.cosigned(r.opts.Origin, want)
		if err != nil {
			return err
		}
		if ok {
			if out, err = l.resolve(h, by, asked); !errors.Is(err, errNewer) {
				return err
			}
		}
		if h, err = l.head(r.opts.Origin); err == nil {
			out, err = l.resolve(h, by, asked)
		}
		return err
	})
	return out, err
}

// errNewer says that something happened after a checkpoint.
var errNewer = errors.New("the leaf is newer than the checkpoint")

// resolve proves everything against one checkpoint.
func (l *look) resolve(h head, by Actor, asked api.Resolve) (out api.Resolved, err error) {
	out = api.Resolved{Checkpoint: string(h.note), Keys: map[string]string{}, Tags: map[string]api.Entry{}, Growth: []tlog.Hash{}}
	if out.Growth, err = l.growth(h, asked.From); err != nil {
		return out, err
	}
	var all []version
	for _, text := range asked.Keys {
		key, err := parseKey(text)
		if err != nil {
			return out, err
		}
		v, err := l.find(by, key)
		if err != nil {
			return out, named(err, text)
		}
		all = append(all, v)
		out.Keys[text] = v.name + "@" + v.version
		if key.Tag != "" && key.Tag != latest {
			if out.Tags[text], err = l.tagEntry(v, key.Tag, h); err != nil {
				return out, err
			}
		}
	}
	if asked.Closure {
		if all, _, err = l.closure(all); err != nil {
			return out, err
		}
	}
	if err := l.checkSize(all, "resolve the Experts one by one, without their closure"); err != nil {
		return out, err
	}
	for _, v := range all {
		if slices.ContainsFunc(out.Experts, func(e api.Expert) bool { return e.Digest == v.digest }) {
			continue
		}
		e, err := l.expert(v, h)
		if err != nil {
			return out, named(err, v.name+"@"+v.version)
		}
		out.Experts = append(out.Experts, e)
	}
	return out, nil
}

// named says which key an answer is about.
func named(err error, key string) error {
	if answer, ok := errors.AsType[*Error](err); ok {
		return &Error{Status: answer.Status, Reason: answer.Reason + ": " + key, Field: answer.Field, Hint: answer.Hint}
	}
	return err
}

// tagEntry returns the leaf that set a tag.
func (l *look) tagEntry(v version, tag string, h head) (e api.Entry, err error) {
	var number int64
	if _, err := l.one("SELECT leaf FROM tags WHERE expert_id = $1 AND tag = $2", []any{v.expertID, tag}, &number); err != nil {
		return e, err
	}
	return l.entry(h, number)
}
