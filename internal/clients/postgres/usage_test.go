package postgres_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
	"github.com/provider-finops/provider-finops/internal/testkit/reference"
)

const (
	billed      = "billed"
	aggregation = "namespace,pod,container"
)

var midday = time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC)

// plantBook stores a price book and returns its id.
func plantBook(t *testing.T, pool *pgxpool.Pool, book *reference.Book) int64 {
	t.Helper()
	rate := func(meter string) *int64 {
		if micros, ok := book.Rates[meter]; ok {
			return &micros
		}
		return nil
	}
	var id int64
	err := pool.QueryRow(t.Context(), `
		INSERT INTO pricebooks (cluster_id, namespace, name, uid, generation, currency, content_hash, cpu_hour_micros,
		       gpu_hour_micros, ram_gb_hour_micros, pv_gb_hour_micros, network_gib_micros)
		VALUES ($1, 'finops', 'tariff', $2, 1, 'EUR', $3, $4, $5, $6, $7, $8)
		RETURNING id`,
		billed, uuid.NewString(), uuid.NewString(), rate("cpuHour"), rate("gpuHour"), rate("ramGbHour"), rate("pvGbHour"), rate("networkGb"),
	).Scan(&id)
	if err != nil {
		t.Fatalf("cannot plant a book: %v", err)
	}
	return id
}

// plantRows stores measured rows of one hour.
func plantRows(t *testing.T, pool *pgxpool.Pool, hour time.Time, rows []reference.Allocation, ids map[*reference.Book]int64) {
	t.Helper()
	if _, err := postgres.EnsureMonths(t.Context(), pool, hour, hour); err != nil {
		t.Fatal(err)
	}
	batch := &pgx.Batch{}
	for i, r := range rows {
		var book *int64
		var currency *string
		if r.Book != nil {
			id, code := ids[r.Book], "EUR"
			book, currency = &id, &code
		}
		batch.Queue(`
			INSERT INTO provider_allocations (cluster_id, aggregation, hour, namespace, name, pod, controller, controller_kind,
			       alloc_start, alloc_end, collected_at, is_finalized, cpu_core_usage_avg, ram_bytes_usage_avg, gpu_usage_avg,
			       pv_byte_hours, network_transfer_bytes, network_receive_bytes, pricebook_id, currency)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $3, true, $11::text::numeric, $12::text::numeric,
			       $13::text::numeric, $14::text::numeric, $15::text::numeric, $16::text::numeric, $17, $18)`,
			billed, aggregation, hour, r.Namespace, fmt.Sprintf("row-%d", i), r.Pod, r.Controller, r.Kind, r.Start, r.End,
			r.CPU, r.RAM, r.GPU, r.PVByteHours, r.Sent, r.Received, book, currency)
	}
	if err := pool.SendBatch(t.Context(), batch).Close(); err != nil {
		t.Fatalf("cannot plant rows: %v", err)
	}
	// Another cluster has measured the same, which is nobody's business here.
	_, err := pool.Exec(t.Context(), `
		INSERT INTO provider_allocations (cluster_id, aggregation, hour, namespace, name, pod, controller, controller_kind,
		       alloc_start, alloc_end, collected_at, is_finalized, cpu_core_usage_avg, ram_bytes_usage_avg, gpu_usage_avg,
		       pv_byte_hours, network_transfer_bytes, network_receive_bytes)
		SELECT 'elsewhere', aggregation, hour, namespace, name, pod, controller, controller_kind,
		       alloc_start, alloc_end, collected_at, is_finalized, cpu_core_usage_avg, ram_bytes_usage_avg, gpu_usage_avg,
		       pv_byte_hours, network_transfer_bytes, network_receive_bytes
		  FROM provider_allocations
		 WHERE cluster_id = $1 AND hour = $2`, billed, hour)
	if err != nil {
		t.Fatalf("cannot plant the rows of another cluster: %v", err)
	}
}

// plantSources stores a version of somebody with some usage sources, and returns
// its id.
func plantSources(t *testing.T, pool *pgxpool.Pool, sources []reference.Source) int64 {
	t.Helper()
	list := make([]map[string]string, len(sources))
	for i, s := range sources {
		list[i] = map[string]string{}
		for field, value := range map[string]string{"resourceType": s.Kind, "name": s.Name, "namespace": s.Namespace} {
			if value != "" || i%2 == 0 { // Left out or empty, it is not set.
				list[i][field] = value
			}
		}
	}
	spec := map[string]any{}
	if len(list) > 0 {
		spec["usageSources"] = list
	}
	var id int64
	err := pool.QueryRow(t.Context(), `
		INSERT INTO subscriptions (cluster_id, namespace, name, uid, generation, content_hash, valid_from, offering_namespace, offering_name, spec)
		VALUES ($1, 'red', 'somebody', gen_random_uuid(), 1, 'planted', $2, 'red', 'offering', $3)
		RETURNING id`, billed, midday, spec).Scan(&id)
	if err != nil {
		t.Fatalf("cannot plant usage sources: %v", err)
	}
	return id
}

// consumed is what one subject used in one hour under one book, in the units of
// seconds and hours that the sums have once they are divided.
type consumed struct{ cores, gpus, bytes, pv, network *big.Rat }

func (c *consumed) add(cores, gpus, bytes, pv, network *big.Rat) {
	c.cores.Add(c.cores, cores)
	c.gpus.Add(c.gpus, gpus)
	c.bytes.Add(c.bytes, bytes)
	c.pv.Add(c.pv, pv)
	c.network.Add(c.network, network)
}

func (c *consumed) String() string {
	return fmt.Sprintf("%s cores, %s gpus, %s bytes, %s pv, %s network", c.cores.RatString(), c.gpus.RatString(), c.bytes.RatString(), c.pv.RatString(), c.network.RatString())
}

type place struct {
	subject int
	hour    time.Time
	book    int64
}

type ledger map[place]*consumed

func (l ledger) at(p place) *consumed {
	if l[p] == nil {
		l[p] = &consumed{new(big.Rat), new(big.Rat), new(big.Rat), new(big.Rat), new(big.Rat)}
	}
	return l[p]
}

func number(t *testing.T, text string) *big.Rat {
	t.Helper()
	n, ok := new(big.Rat).SetString(text)
	if !ok {
		t.Fatalf("no number %q", text)
	}
	return n
}

// walk adds up the rows of one hour that a Subscription's sources select, one by
// one.
func (l ledger) walk(t *testing.T, p place, sub reference.Subscription, rows []reference.Allocation, ids map[*reference.Book]int64) {
	t.Helper()
	for _, row := range rows {
		if !slices.ContainsFunc(sub.Sources, func(s reference.Source) bool { return s.Selects(row) }) {
			continue
		}
		start, end := max(row.Start.Unix(), sub.Activated.Unix()), row.End.Unix()
		if !sub.Deactivated.IsZero() {
			end = min(end, sub.Deactivated.Unix())
		}
		if end <= start {
			continue
		}
		p.book = ids[row.Book]
		span := new(big.Rat).SetInt64(end - start)
		share := big.NewRat(end-start, row.End.Unix()-row.Start.Unix())
		times := func(text string, factor *big.Rat) *big.Rat { return new(big.Rat).Mul(number(t, text), factor) }
		network := new(big.Rat).Add(times(row.Sent, share), times(row.Received, share))
		l.at(p).add(times(row.CPU, span), times(row.GPU, span), times(row.RAM, span), times(row.PVByteHours, share), network)
	}
}

// count adds up all rows of an hour, as claimed or as unclaimed.
func (l ledger) count(t *testing.T, hour time.Time, rows []reference.Allocation, lives []reference.Subscription, subjects []postgres.UsageSubject, ids map[*reference.Book]int64) {
	t.Helper()
	for _, row := range rows {
		p := place{subject: postgres.Unclaimed, hour: hour, book: ids[row.Book]}
		for n, sub := range lives {
			asked := !hour.Before(subjects[n].FirstWindow) && hour.Before(subjects[n].EndWindow)
			start, end := max(row.Start.Unix(), sub.Activated.Unix()), row.End.Unix()
			if !sub.Deactivated.IsZero() {
				end = min(end, sub.Deactivated.Unix())
			}
			if asked && start < end && slices.ContainsFunc(sub.Sources, func(s reference.Source) bool { return s.Selects(row) }) {
				p.subject = postgres.Claimed
			}
		}
		reserved := strings.HasPrefix(row.Namespace, "__")
		if !row.Start.Before(row.End) || p.subject == postgres.Unclaimed && reserved {
			continue
		}
		span := new(big.Rat).SetInt64(row.End.Unix() - row.Start.Unix())
		times := func(text string) *big.Rat { return new(big.Rat).Mul(number(t, text), span) }
		network := new(big.Rat).Add(number(t, row.Sent), number(t, row.Received))
		l.at(p).add(times(row.CPU), times(row.GPU), times(row.RAM), number(t, row.PVByteHours), network)
	}
}

// agree compares all figures.
func (l ledger) agree(t *testing.T, got ledger) {
	t.Helper()
	for p, c := range l {
		if got[p] == nil || got[p].String() != c.String() {
			t.Errorf("subject %d, hour %s, book %d: want %s, got %v", p.subject, p.hour, p.book, c, got[p])
		}
	}
	for p := range got {
		if l[p] == nil {
			t.Errorf("subject %d, hour %s, book %d: want nothing, got %s", p.subject, p.hour, p.book, got[p])
		}
	}
}

// withNobodys adds rows that no source names, some of them in a reserved namespace.
func withNobodys(rows []reference.Allocation) []reference.Allocation {
	for i, namespace := range []string{"nobody", "nobody", "__idle__", "__idle__"} {
		row := rows[i]
		row.Namespace, row.Controller, row.Kind, row.Pod = namespace, "nothing", "nothing", "nothing"
		rows = append(rows, row)
	}
	return rows
}

// TestUsageAgreesWithTheRules compares what the statement selects and adds up
// with a walk over every row by the rules of usage sources: random sources that
// overlap, names that look alike, rows and lives that begin and end anywhere. What
// is claimed by nobody is counted by the same rules.
func TestUsageAgreesWithTheRules(t *testing.T) {
	db := pgtest.Database(t)
	r := rand.New(rand.NewPCG(11, 12))

	books := []*reference.Book{reference.RandomBook(r), reference.RandomBook(r)}
	ids := map[*reference.Book]int64{books[0]: plantBook(t, db.Pool, books[0]), books[1]: plantBook(t, db.Pool, books[1])}
	measured := map[time.Time][]reference.Allocation{}
	for n := range 4 {
		hour := midday.Add(time.Duration(n) * time.Hour)
		measured[hour] = withNobodys(reference.RandomRows(r, hour, books, 150))
		plantRows(t, db.Pool, hour, measured[hour], ids)
	}

	subjects := make([]postgres.UsageSubject, 0, 400)
	var lives []reference.Subscription
	want := ledger{}
	for range 400 {
		sub := reference.RandomSubscription(r, midday, 3)
		subject := postgres.UsageSubject{ActiveFrom: sub.Activated, ActiveTo: sub.Deactivated, FirstWindow: midday, EndWindow: midday.Add(4 * time.Hour)}
		if r.IntN(4) == 0 {
			subject.FirstWindow = midday.Add(time.Hour) // The first hour is final already.
		}
		if r.IntN(4) == 0 {
			subject.EndWindow = midday.Add(2 * time.Hour)
		}
		subject.VersionID = plantSources(t, db.Pool, sub.Sources)
		n := len(subjects)
		subjects = append(subjects, subject)

		lives = append(lives, sub)
		for hour, rows := range measured {
			if !hour.Before(subject.FirstWindow) && hour.Before(subject.EndWindow) {
				want.walk(t, place{subject: n, hour: hour}, sub, rows, ids)
			}
		}
	}

	query := postgres.UsageQuery{
		ClusterID: billed, Aggregation: aggregation, First: midday, End: midday.Add(4 * time.Hour),
		Count: postgres.Hours{First: midday.Add(2 * time.Hour), End: midday.Add(9 * time.Hour)},
	}
	for hour, rows := range measured {
		if !hour.Before(query.Count.First) {
			want.count(t, hour, rows, lives, subjects, ids)
		}
	}

	conn, err := db.Pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	if err := postgres.StageUsage(t.Context(), conn, billed, slices.Values(subjects)); err != nil {
		t.Fatal(err)
	}
	got := ledger{}
	last := place{subject: postgres.Unclaimed}
	for u, err := range postgres.ReadUsage(t.Context(), conn, query) {
		if err != nil {
			t.Fatal(err)
		}
		p := place{u.Subject, u.Hour, u.PricebookID}
		if p.subject < last.subject || p.subject == last.subject && p.hour.Before(last.hour) {
			t.Fatalf("usage comes by subject and hour, but %v came after %v", p, last)
		}
		last = p
		share := new(big.Rat).SetInt64(u.ShareSeconds)
		got.at(p).add(u.CoreSeconds, u.GPUSeconds, u.ByteSeconds, new(big.Rat).Quo(u.PVByteHours, share), new(big.Rat).Quo(u.NetworkBytes, share))
	}

	for _, who := range []int{postgres.Claimed, postgres.Unclaimed} {
		if p := (place{who, midday.Add(3 * time.Hour), ids[books[0]]}); want[p] == nil && want[place{p.subject, p.hour, ids[books[1]]}] == nil {
			t.Errorf("Nothing is counted for subject %d: the random world says nothing of it", who)
		}
	}
	if len(want) < 300 {
		t.Errorf("Only %d figures: the random world is too empty to say anything", len(want))
	}
	want.agree(t, got)
}
