package allocation

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/provider-finops/provider-finops/internal/finops/collection"
)

// maxRounds bounds how often an hour is looked over for further namespaces.
// Those of an hour that has closed do not change any more, and in the hour in
// progress not this fast.
const maxRounds = 5

// fetchSharded asks for an hour by groups of namespaces, several at once. Which
// namespaces there are OpenCost says, because it knows those that were deleted
// meanwhile and those that are none (OPEN-CJ-9).
//
// A namespace may appear between that question and the others, and no group
// would hold it. So the question is asked again until its answer holds nothing
// new: the rows are those of one query for the whole hour. Only the last answer
// can miss what appears after it, as that one query would.
func (r *run) fetchSharded(ctx context.Context, f *fetched, size, concurrency int) error {
	known := map[string]bool{}
	for range maxRounds {
		discovered, err := r.discover(ctx, f.batch.Hour)
		if err != nil {
			return fmt.Errorf("cannot discover the namespaces: %w", err)
		}
		missing := slices.DeleteFunc(discovered, func(n string) bool { return known[n] })
		if len(missing) == 0 {
			return nil
		}

		strays, err := r.fetchShards(ctx, f, collection.Shards(missing, size), concurrency)
		if err != nil {
			return err
		}
		for _, n := range missing {
			known[n] = true
		}
		// What a server that knows no filter has told about another namespace is
		// looked for in the next round, should the discovery keep it back.
		strays = slices.DeleteFunc(strays, func(n string) bool { return known[n] })
		if len(strays) > 0 {
			if _, err := r.fetchShards(ctx, f, collection.Shards(strays, size), concurrency); err != nil {
				return err
			}
			for _, n := range strays {
				known[n] = true
			}
		}
	}
	return fmt.Errorf("cannot split the hour by namespace: new ones appeared in each of %d rounds", maxRounds)
}

// discover lists the namespaces of an hour.
func (r *run) discover(ctx context.Context, h time.Time) ([]string, error) {
	query := r.query(h)
	query.Aggregate = "namespace"

	var namespaces []string
	for a, err := range r.Source.Allocations(ctx, query) {
		if err != nil {
			return nil, err
		}
		namespaces = append(namespaces, a.Namespace)
	}
	return slices.Concat(collection.Shards(namespaces, 1)...), nil
}

// fetchShards asks for groups of namespaces, and keeps the answers only if all
// of them are whole. It returns the namespaces that came unasked.
func (r *run) fetchShards(ctx context.Context, f *fetched, groups [][]string, concurrency int) ([]string, error) {
	type shard struct {
		*spool

		corrections collection.Corrections
	}
	shards := make([]shard, len(groups))
	var unasked strays

	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(max(concurrency, 1))
	for n, namespaces := range groups {
		all.Go(func() error {
			query := r.query(f.batch.Hour)
			query.Namespaces, query.Foreign = namespaces, unasked.note
			part, corrections, err := r.spool(ctx, f.batch, query)
			if err != nil {
				return fmt.Errorf("shard %d of %d, namespaces %q to %q: %w", n+1, len(groups), namespaces[0], namespaces[len(namespaces)-1], err)
			}
			shards[n] = shard{part, corrections}
			return nil
		})
	}
	err := all.Wait()

	for _, s := range shards {
		if s.spool != nil {
			f.parts = append(f.parts, s.spool)
			f.corrections.Add(s.corrections)
		}
	}
	if err != nil {
		return nil, err
	}
	namespaces := unasked.list()
	if len(namespaces) > 0 {
		r.filterIgnored.Do(func() {
			r.Log.Info("OpenCost ignores the filter, so each shard is answered with the whole hour; without sharding it would be asked once")
		})
	}
	return namespaces, nil
}

// strays are the namespaces of items that came unasked, to any shard.
type strays struct {
	mu         sync.Mutex
	namespaces map[string]struct{}
}

func (s *strays) note(namespace string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.namespaces == nil {
		s.namespaces = map[string]struct{}{}
	}
	s.namespaces[namespace] = struct{}{}
}

func (s *strays) list() []string {
	return slices.Concat(collection.Shards(slices.Collect(maps.Keys(s.namespaces)), 1)...)
}
