package mirror

import (
	"context"
	"sync"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
)

// A batch stores what comes while a statement runs with the next one. One
// statement costs a round trip and a flush to disk, however many rows it has.
type batch[T any] struct {
	running sync.Mutex // Held while a statement runs; who waits for it is in the next.

	mu      sync.Mutex
	waiting []*entry[T]
}

// An entry is what one caller wants to have stored. Whoever holds running may
// touch done and err.
type entry[T any] struct {
	value T
	done  bool
	err   error
}

// store returns when a statement that held the value has ended.
func (b *batch[T]) store(ctx context.Context, value T, statement func(context.Context, []T) error) error {
	e := &entry[T]{value: value}
	b.mu.Lock()
	b.waiting = append(b.waiting, e)
	b.mu.Unlock()

	b.running.Lock()
	defer b.running.Unlock()
	if e.done { // By somebody who came before.
		return e.err
	}
	b.mu.Lock()
	all := b.waiting
	b.waiting = nil
	b.mu.Unlock()

	b.run(ctx, all, statement)
	return e.err
}

// run stores all in one statement. What the database refuses is stored one by
// one, so that only those fail whose fault it is.
func (b *batch[T]) run(ctx context.Context, all []*entry[T], statement func(context.Context, []T) error) {
	values := make([]T, 0, len(all))
	for _, e := range all {
		values = append(values, e.value)
	}
	err := statement(ctx, values)
	if len(all) > 1 && postgres.IsRefusedData(err) {
		for _, e := range all {
			e.done, e.err = true, statement(ctx, []T{e.value})
		}
		return
	}
	for _, e := range all {
		e.done, e.err = true, err
	}
}
