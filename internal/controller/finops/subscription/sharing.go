package subscription

import (
	"context"
	"errors"
	"reflect"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// sharing asks the server once for all who want to know the same at the same
// time. When a family loses its only provider, each of its members reads the
// same Offering and often the same parent before it ends: as many reads would
// take longer than the writes.
//
// Nobody gets an answer to a question that was asked before his own: who comes
// while a read is on its way waits for the next one. So it is as good evidence
// as a read of one's own (design R2).
//
// What is read is handed to several, so nobody may change it.
type sharing struct {
	client.Reader

	mu      sync.Mutex
	next    map[question]*answer // Those whose question has not been sent yet.
	running map[question]*answer // Those whose question may have been.
}

// errUnread stands until a read has ended, and stays if it never does.
var errUnread = errors.New("the server was not asked to the end")

// A question is which object, or, without a name, the list of all of a kind.
type question struct {
	kind reflect.Type
	key  client.ObjectKey
}

type answer struct {
	done chan struct{} // Closed when what follows stands.
	said reflect.Value
	err  error
}

func newSharing(r client.Reader) *sharing {
	return &sharing{Reader: r, next: map[question]*answer{}, running: map[question]*answer{}}
}

// Get reads one object.
func (s *sharing) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	if len(opts) > 0 {
		return s.Reader.Get(ctx, key, into, opts...)
	}
	return s.ask(question{kind: reflect.TypeOf(into), key: key}, into, func() error { return s.Reader.Get(ctx, key, into) })
}

// List reads all objects of a kind. A list of some is nobody else's.
func (s *sharing) List(ctx context.Context, into client.ObjectList, opts ...client.ListOption) error {
	if len(opts) > 0 {
		return s.Reader.List(ctx, into, opts...)
	}
	return s.ask(question{kind: reflect.TypeOf(into)}, into, func() error { return s.Reader.List(ctx, into) })
}

// ask has the first who asks read for the others.
func (s *sharing) ask(q question, into any, read func() error) error {
	s.mu.Lock()
	a, asked := s.next[q]
	if asked {
		s.mu.Unlock()
		<-a.done // The reader's context bounds it.
		if a.err == nil {
			reflect.ValueOf(into).Elem().Set(a.said)
		}
		return a.err
	}
	a = &answer{done: make(chan struct{}), err: errUnread}
	s.next[q] = a
	before := s.running[q]
	s.mu.Unlock()
	defer close(a.done)

	if before != nil {
		<-before.done
	}
	s.mu.Lock()
	delete(s.next, q)
	s.running[q] = a
	s.mu.Unlock()

	err := read()
	a.said, a.err = reflect.ValueOf(into).Elem(), err

	s.mu.Lock()
	if s.running[q] == a {
		delete(s.running, q)
	}
	s.mu.Unlock()
	return a.err
}
