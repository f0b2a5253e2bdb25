package migrations_test

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

const uid = "00000000-0000-4000-8000-000000000001"

type record map[string]any

func (r record) with(changes record) record {
	out := maps.Clone(r)
	maps.Copy(out, changes)
	return out
}

// good holds one row per table that every rule accepts. A book, an Offering
// and a Subscription with id 1 exist.
var good = map[string]record{
	"pricebooks": {
		"id": 7, "generation": 1, "cpu_hour_micros": 31000, "uid": uid, "cluster_id": "default", "namespace": "finops",
		"name": "standard", "currency": "EUR", "content_hash": "other",
	},
	"provider_allocations": {
		"hour": "2026-11-10T10:00:00Z", "alloc_start": "2026-11-10T10:10:00Z", "alloc_end": "2026-11-10T11:00:00Z",
		"collected_at": "2026-11-10T11:01:00Z", "pricebook_id": 1, "currency": "EUR", "is_finalized": true,
		"cluster_id": "default", "aggregation": "namespace,pod,container", "namespace": "team-a", "name": "team-a/web/app",
		"pod": "web", "container": "app", "controller": "web", "controller_kind": "deployment", "minutes": 50,
		"cpu_core_usage_avg": 0.5, "ram_bytes_usage_avg": 1, "gpu_count": 0, "gpu_usage_avg": 0, "pv_byte_hours": 0,
		"network_transfer_bytes": 0, "network_receive_bytes": 0,
	},
	"cluster_ids":        {"cluster_id": "elsewhere", "identity": uid},
	"current_pricebooks": {"pricebook_id": 1, "since": "2026-11-10T10:00:00Z", "uid": uid, "cluster_id": "default"},
	"allocation_hours": {
		"hour": "2026-11-10T10:00:00Z", "updated_at": "2026-11-10T11:01:00Z", "row_count": 0, "attempts": 1,
		"cluster_id": "default", "aggregation": "namespace,pod,container", "state": "empty",
	},
	"usage_claims": {
		"hour": "2026-11-10T10:00:00Z", "counted_at": "2026-11-10T11:01:00Z", "cluster_id": "default",
		"aggregation": "namespace,pod,container", "meter": "cpuHour", "measured": 2.5, "unclaimed": 1, "unrated": 0.5,
	},
	"allocation_days": {
		"day": "2026-11-10", "row_count": 1, "cluster_id": "default", "aggregation": "namespace,pod,container",
		"namespace": "team-a", "controller_kind": "deployment", "controller": "web", "cpu_core_seconds": 1,
		"gpu_seconds": 0, "ram_byte_seconds": 0, "pv_byte_hours": 0, "network_bytes": 0,
	},
	"offerings": {
		"id": 7, "generation": 1, "valid_from": "2026-11-10T10:00:00Z", "uid": uid, "cluster_id": "default",
		"namespace": "catalog", "name": "base", "content_hash": "other", "spec": record{},
	},
	"subscriptions": {
		"id": 7, "generation": 1, "valid_from": "2026-11-10T10:00:00Z", "uid": uid, "cluster_id": "default",
		"namespace": "team-a", "name": "web", "content_hash": "other", "spec": record{}, "offering_namespace": "catalog",
		"offering_name": "base",
	},
	"subscription_charges": {
		"window_start": "2026-11-10T10:00:00Z", "window_end": "2026-11-10T11:00:00Z", "created_at": "2026-11-10T11:01:00Z",
		"updated_at": "2026-11-10T11:01:00Z", "amount_micros": 1, "unit_price_micros": 1, "offering_version_id": 1,
		"subscription_version_id": 1, "pricebook_id": 1, "subscription_uid": uid, "finalized": true, "cluster_id": "default",
		"charge_source": "cpuHour", "currency": "EUR", "quantity": 1, "details": record{},
	},
	"subscription_watermarks": {
		"finalized_through": "2026-11-10T10:00:00Z", "updated_at": "2026-11-10T11:01:00Z", "subscription_uid": uid,
		"cluster_id": "default",
	},
}

// insert writes one row whose columns are the members of a record.
func insert(t *testing.T, db postgres.DB, table string, row record) error {
	t.Helper()
	text, err := json.Marshal(row)
	if err != nil {
		t.Fatal(err)
	}
	names := slices.Sorted(maps.Keys(row))
	for i := range names {
		names[i] = pgx.Identifier{names[i]}.Sanitize()
	}
	columns := strings.Join(names, ", ")
	_, err = db.Exec(t.Context(), "INSERT INTO "+table+" ("+columns+") OVERRIDING SYSTEM VALUE SELECT "+columns+
		" FROM jsonb_populate_record(NULL::"+table+", $1)", text)
	return err
}

// history gives a database the book and the versions that charges refer to.
func history(t *testing.T, db *pgxpool.Pool) {
	t.Helper()
	for _, table := range []string{"pricebooks", "offerings", "subscriptions"} {
		row := good[table].with(record{"id": 1, "content_hash": "first"})
		if err := insert(t, db, table, row); err != nil {
			t.Fatalf("cannot insert into %s: %v", table, err)
		}
	}
	november := time.Date(2026, 11, 10, 0, 0, 0, 0, time.UTC)
	if _, err := postgres.EnsureMonths(t.Context(), db, november, november); err != nil {
		t.Fatal(err)
	}
}

// violated is the name of the rule that refused a statement.
func violated(err error) string {
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		return refused.ConstraintName
	}
	return ""
}

type refusal struct {
	reason string
	table  string
	change record
}

// refusals holds, for every named rule, rows that it has to refuse.
var refusals = map[string][]refusal{
	"id_is_positive": {
		{"Id 0 means no book to others, so it never exists.", "pricebooks", record{"id": 0}},
		{"", "offerings", record{"id": 0}},
		{"", "subscriptions", record{"id": -1}},
	},
	"cluster_is_named": {
		{"Rows of no cluster are nobody's.", "pricebooks", record{"cluster_id": ""}},
		{"", "provider_allocations", record{"cluster_id": "", "pricebook_id": nil, "currency": nil}},
		{"", "allocation_hours", record{"cluster_id": ""}},
		{"", "usage_claims", record{"cluster_id": ""}},
		{"", "allocation_days", record{"cluster_id": ""}},
		{"", "offerings", record{"cluster_id": ""}},
		{"", "subscriptions", record{"cluster_id": ""}},
		{"", "subscription_charges", record{"cluster_id": ""}},
		{"", "subscription_watermarks", record{"cluster_id": ""}},
		{"", "cluster_ids", record{"cluster_id": ""}},
	},
	"cluster_is_known": {{"Nobody is no owner.", "cluster_ids", record{"identity": ""}}},
	"aggregation_is_named": {
		{"Two aggregations of one hour would be billed twice (OPEN-DB-5).", "provider_allocations", record{"aggregation": ""}},
		{"", "allocation_hours", record{"aggregation": ""}},
		{"", "usage_claims", record{"aggregation": ""}},
		{"", "allocation_days", record{"aggregation": ""}},
	},
	"book_is_named":                       {{"A book is an object.", "pricebooks", record{"name": ""}}},
	"object_is_named":                     {{"", "offerings", record{"namespace": ""}}, {"", "subscriptions", record{"name": ""}}},
	"content_is_hashed":                   {{"", "pricebooks", record{"content_hash": ""}}, {"", "offerings", record{"content_hash": ""}}, {"", "subscriptions", record{"content_hash": ""}}},
	"pricebook_is_stored_once":            {{"Equal rates are one row.", "pricebooks", record{"content_hash": "first"}}},
	"offering_version_is_stored_once":     {{"", "offerings", record{"content_hash": "first"}}},
	"subscription_version_is_stored_once": {{"", "subscriptions", record{"content_hash": "first"}}},
	"currency_is_a_code": {
		{"ISO 4217.", "pricebooks", record{"currency": "eur"}},
		{"", "provider_allocations", record{"currency": "E1R"}},
		{"", "subscription_charges", record{"currency": ""}},
	},
	"rates_not_negative": {
		{"", "pricebooks", record{"cpu_hour_micros": -1}},
		{"One bad rate among unset ones.", "pricebooks", record{"cpu_hour_micros": nil, "network_gib_micros": -1}},
	},
	"hour_is_whole": {
		{"", "provider_allocations", record{"hour": "2026-11-10T10:00:01Z"}},
		{"A whole hour somewhere else is none in UTC.", "provider_allocations", record{"hour": "2026-11-10T10:00:00+05:30"}},
		{"", "allocation_hours", record{"hour": "2026-11-10T10:30:00Z"}},
		{"", "usage_claims", record{"hour": "2026-11-10T10:30:00Z"}},
	},
	"interval_is_in_the_hour": {
		{"Starts before the hour.", "provider_allocations", record{"alloc_start": "2026-11-10T09:59:59Z"}},
		{"Ends after it.", "provider_allocations", record{"alloc_end": "2026-11-10T11:00:01Z"}},
		{"Ends before it starts.", "provider_allocations", record{"alloc_end": "2026-11-10T10:09:59Z"}},
	},
	"book_and_currency_go_together": {
		{"", "provider_allocations", record{"currency": nil}},
		{"", "provider_allocations", record{"pricebook_id": nil}},
	},
	"quantities_not_negative": {
		{"", "provider_allocations", record{"cpu_core_usage_avg": -0.00001}},
		{"", "provider_allocations", record{"minutes": -2.45}},
		{"", "allocation_days", record{"network_bytes": -1}},
	},
	"quantities_are_finite": {
		{"NaN passes every lower bound.", "provider_allocations", record{"ram_bytes_usage_avg": "NaN"}},
		{"", "provider_allocations", record{"pv_byte_hours": "Infinity"}},
		{"", "allocation_days", record{"gpu_seconds": "NaN"}},
		{"", "usage_claims", record{"measured": "NaN"}},
	},
	"allocation_names_its_book":     {{"", "provider_allocations", record{"pricebook_id": 99}}, {"A book of another cluster.", "provider_allocations", record{"cluster_id": "elsewhere"}}},
	"current_book_is_stored":        {{"", "current_pricebooks", record{"pricebook_id": 99}}},
	"meter_is_usage":                {{"A fee is not measured.", "usage_claims", record{"meter": "subscription"}}},
	"claims_are_parts":              {{"More than there is.", "usage_claims", record{"measured": 1.4}}, {"", "usage_claims", record{"unclaimed": -1}}},
	"state_is_known":                {{"", "allocation_hours", record{"state": "done"}}},
	"counts_not_negative":           {{"", "allocation_hours", record{"state": "open", "row_count": -1}}, {"", "allocation_hours", record{"attempts": -1}}},
	"empty_has_no_rows":             {{"", "allocation_hours", record{"row_count": 1}}},
	"late_changes_not_negative":     {{"", "allocation_hours", record{"late_changes": -1}}},
	"day_has_rows":                  {{"", "allocation_days", record{"row_count": 0}}},
	"spec_is_object":                {{"", "offerings", record{"spec": "text"}}, {"", "subscriptions", record{"spec": []int{}}}},
	"parent_is_named_in_full":       {{"", "subscriptions", record{"parent_name": "web"}}},
	"charge_names_its_offering":     {{"", "subscription_charges", record{"offering_version_id": 99}}},
	"charge_names_its_subscription": {{"", "subscription_charges", record{"subscription_version_id": 99}}},
	"charge_names_its_book":         {{"", "subscription_charges", record{"pricebook_id": 0}}},
	"window_starts_on_the_hour": {
		{"", "subscription_charges", record{"window_start": "2026-11-10T10:30:00Z", "window_end": "2026-11-10T11:30:00Z"}},
	},
	"window_is_one_hour":         {{"", "subscription_charges", record{"window_end": "2026-11-10T12:00:00Z"}}},
	"source_is_known":            {{"A meter that nobody sums up.", "subscription_charges", record{"charge_source": "cpuhour"}}},
	"fee_has_no_book":            {{"", "subscription_charges", record{"charge_source": "subscription"}}},
	"amount_not_negative":        {{"", "subscription_charges", record{"amount_micros": -1}}},
	"unit_price_not_negative":    {{"", "subscription_charges", record{"unit_price_micros": -1}}},
	"quantity_not_negative":      {{"", "subscription_charges", record{"quantity": -0.1}}},
	"quantity_is_finite":         {{"", "subscription_charges", record{"quantity": "NaN"}}},
	"details_is_object":          {{"", "subscription_charges", record{"details": []int{1}}}},
	"finalized_through_is_whole": {{"", "subscription_watermarks", record{"finalized_through": "2026-11-10T10:00:00.000001Z"}}},
}

func TestRulesRefuse(t *testing.T) {
	db := pgtest.Database(t)
	history(t, db.Pool)
	for rule, cases := range refusals {
		for _, tc := range cases {
			t.Run(rule, func(t *testing.T) {
				err := insert(t, db.Pool, tc.table, good[tc.table].with(tc.change))
				if diff := cmp.Diff(rule, violated(err)); diff != "" {
					t.Errorf("%s\n%s %v: %v\n-want, +got:\n%s", tc.reason, tc.table, tc.change, err, diff)
				}
			})
		}
	}
}

// TestRulesAccept shows that the rows from which the refused ones were made
// are good, so that each was refused for what it changed.
func TestRulesAccept(t *testing.T) {
	db := pgtest.Database(t)
	history(t, db.Pool)
	for table, row := range good {
		t.Run(table, func(t *testing.T) {
			if err := insert(t, db.Pool, table, row); err != nil {
				t.Errorf("a good row was refused: %v", err)
			}
		})
	}
}

// TestEveryRuleIsTested fails when a migration brings a rule that nobody has
// seen refuse.
func TestEveryRuleIsTested(t *testing.T) {
	db := pgtest.Database(t)
	rows, err := db.Pool.Query(t.Context(), `
		SELECT DISTINCT o.conname::text
		  FROM pg_constraint AS o
		  JOIN pg_class AS c ON c.oid = o.conrelid
		 WHERE o.connamespace = current_schema()::regnamespace AND o.contype IN ('c', 'f', 'u') AND NOT c.relispartition
		   AND o.conparentid = 0
		 ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(refusals)), got); diff != "" {
		t.Errorf("rules with a test: -tested, +existing:\n%s", diff)
	}
}
