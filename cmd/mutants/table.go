package main

import "slices"

// mutants are all there are, in the order of the house: core, SQL, shells.
func mutants() []mutant {
	return slices.Concat(amounts(), decisions(), measurements(), statements(), shells())
}

// amounts are wrong bills.
func amounts() []mutant {
	const money, tick, charge = "internal/finops/money", "internal/finops/tick", "internal/finops/charge"
	return []mutant{
		{name: "money is rounded towards zero", file: money + "/money.go", old: "return FromInt(new(big.Int).Div(exact.Num(), exact.Denom()))", new: "return FromInt(new(big.Int).Quo(exact.Num(), exact.Denom()))", test: money},
		{name: "an amount wraps around", file: money + "/money.go", old: "if !micros.IsInt64() {", new: "if micros.BitLen() > 64 {", test: money},
		{name: "a margin's factor is per cent", file: money + "/margin.go", old: "const factorUnit = 1000", new: "const factorUnit = 100", test: money},
		{name: "a margin may be both", file: money + "/margin.go", old: "case m.AbsoluteMicros != nil && m.FactorMilli != nil:", new: "case m.AbsoluteMicros != nil && m.FactorMilli != nil && rate < 0:", test: money},
		{name: "an activation on the grid is due at once", file: tick + "/grid.go", old: "return (floorDiv(g.activated, g.period.seconds) + 1) * g.period.seconds", new: "return (floorDiv(g.activated+g.period.seconds-1, g.period.seconds)) * g.period.seconds", test: tick},
		{name: "an end on a boundary costs another period", file: tick + "/grid.go", old: "if n > 0 && g.boundary(n) == t {", new: "if n > 1 && g.boundary(n) == t {", test: tick},
		{name: "a tick at the instant of the boundary does not count", file: tick + "/grid.go", old: "	if t < first {\n		return 0\n	}\n	return 1 +", new: "	if t <= first {\n		return 0\n	}\n	return 1 +", test: tick},
		{name: "an opening tick that ends with the span is charged in full", file: tick + "/fee.go", old: "from < first && first <= to {", new: "from < first && first < to {", test: tick},
		{name: "an opening month of 31 days costs more than one", file: tick + "/fee.go", old: "seconds := min(f.grid.first()-f.grid.activated, f.terms.Period.seconds)", new: "seconds := f.grid.first() - f.grid.activated", test: tick},
		{name: "fees go on after the end", file: tick + "/fee.go", old: "from, to = min(from, f.snap), min(to, f.snap)", new: "from = min(from, f.snap)", test: tick},
		{name: "minPeriods ends one period late", file: tick + "/fee.go", old: "return f.Ticks(t) >= f.terms.MinPeriods", new: "return f.Ticks(t) > f.terms.MinPeriods", test: tick},
		{name: "usage is priced with the rate of another book", file: charge + "/row.go", old: "book, known := books[u.BookID]", new: "book, known := books[usage[0].BookID]", test: charge},
		{name: "usage without a rate is billed at the margin", file: charge + "/row.go", old: "if !known || !rated {", new: "if !known || rated && rate < 0 {", test: charge},
		{name: "the hour of the watermark is charged again", file: charge + "/window.go", old: "!finalizedThrough.IsZero() && next.After(w.First)", new: "!finalizedThrough.IsZero() && finalizedThrough.After(w.First)", test: charge},
		{name: "the hour in progress is final", file: charge + "/window.go", old: "return window.Before(b.finalEnd(run))", new: "return !window.After(b.finalEnd(run))", test: charge},
		{name: "a metered hour is final before its measurements", file: charge + "/window.go", old: "if b.metered && run.SettledBefore.Before(run.Hour) {", new: "if b.metered && run.SettledBefore.After(run.Hour) {", test: charge},
		{name: "a source of kind Pod alone selects the cluster", file: charge + "/source.go", old: "return s.Name == \"\" && s.Namespace == \"\" && (s.Kind == \"\" || s.Kind == kindPod)", new: "return s.Name == \"\" && s.Namespace == \"\" && s.Kind == \"\"", test: charge},
		{name: "idle cost is somebody's", file: charge + "/source.go", old: "case s.Namespace == \"\" && pseudo(w.Namespace):", new: "case s.Namespace == \"__idle__\" && pseudo(w.Namespace):", test: charge},
		{name: "a day is summed up to its next midnight", file: charge + "/bucket.go", old: "return start, start.AddDate(0, 0, 1)", new: "return start, start.AddDate(0, 0, 1).Add(hour.Length)", test: charge},
		{name: "a Subscription is let go before its hours are final", file: charge + "/release.go", old: "if d.Bill != nil && d.Bill.Final(d.Run, hour.Of(d.Life.DeactivatedAt)) {", new: "if d.Bill != nil {", test: charge},
		{name: "a Subscription is let go in spite of an error", file: charge + "/release.go", old: "var Departing = Chain{deactivated, minPeriodsPassed, settled, nothingRecorded}", new: "var Departing = Chain{deactivated, minPeriodsPassed, settled}", test: charge},
	}
}

// decisions are wrong verdicts.
func decisions() []mutant {
	const gate, family, election, offer = "internal/finops/gate", "internal/finops/family", "internal/finops/election", "internal/finops/offer"
	return []mutant{
		{name: "a parent that is not ready ends its children", file: gate + "/gates.go", old: "	case parent.Deactivated:\n		return Verdict{ParentSubscriptionDeactivated", new: "	case parent.Deactivated || !parent.Ready:\n		return Verdict{ParentSubscriptionDeactivated", test: gate},
		{name: "an orphan ends with its parent", file: gate + "/gates.go", old: "return policy == Orphan, err", new: "return policy == Orphan && false, err", test: gate},
		{name: "who waits for a parent is an orphan", file: gate + "/gates.go", old: "if !in.Self.Active() || in.Self.Parent == nil {", new: "if in.Self.Parent == nil {", test: gate},
		{name: "a kind that cannot be discovered ends contracts", file: gate + "/gates.go", old: "if errors.As(err, &unknown) && !in.Self.Active() {", new: "if errors.As(err, &unknown) {", test: gate},
		{name: "a target that must not be named ends a contract", file: gate + "/gates.go", old: "if in.Self.Target == nil || !TargetPermitted(in).Passes() {", new: "if in.Self.Target == nil {", test: gate},
		{name: "an end lies before its beginning", file: gate + "/decide.go", old: "if s.ActivatedAt != nil && s.ActivatedAt.After(end) {", new: "if s.ActivatedAt != nil && s.ActivatedAt.After(end) && end.IsZero() {", test: gate},
		{name: "an end lies before an hour that was charged for good", file: gate + "/decide.go", old: "s.ChargedTo.After(end) && s.ChargedTo.Sub(now) <= farthestBehind", new: "s.ChargedTo.After(end) && s.ChargedTo.Sub(now) <= 0", test: gate},
		{name: "a charge run that is a year ahead is believed", file: gate + "/decide.go", old: "s.ChargedTo.After(end) && s.ChargedTo.Sub(now) <= farthestBehind", new: "s.ChargedTo.After(end) && farthestBehind > 0", test: gate},
		{name: "a member covers itself", file: family + "/coverage.go", old: "if m.Key == of.Key || m.UID == of.UID {", new: "if m.Key == of.Key && m.UID == \"\" {", test: family},
		{name: "a descendant covers its ancestor", file: family + "/coverage.go", old: "ref.Compare(provider.Key, m.Key) < 0 || f.beneath(m, of) {", new: "ref.Compare(provider.Key, m.Key) < 0 {", test: family},
		{name: "one who has ended covers", file: family + "/coverage.go", old: "		if m.Active {\n", new: "		if m.Active || m.UID != \"\" {\n", test: family},
		{name: "the older book wins", file: election + "/election.go", old: "b.CreatedAt.Compare(a.CreatedAt),      //", new: "a.CreatedAt.Compare(b.CreatedAt),      //", test: election},
		{name: "a book that is being deleted stays in force", file: election + "/election.go", old: "return !b.Deleting && !b.Outside", new: "return !b.Outside", test: election},
		{name: "a published price follows the book", file: offer + "/decide.go", old: "	if in.Published != nil {\n		moved", new: "	if in.Published != nil && in.BooksErr != nil {\n		moved", test: offer},
	}
}

// measurements are hours that are final too early, or never.
func measurements() []mutant {
	const collection, opencost, hour, pricing = "internal/finops/collection", "internal/clients/opencost", "internal/finops/hour", "internal/finops/pricing"
	return []mutant{
		{name: "an hour is final before OpenCost has settled", file: collection + "/plan.go", old: "!now.Before(h.Add(hour.Length+l.SettleDelay))", new: "!now.Before(h.Add(hour.Length))", test: collection},
		{name: "the hour in progress is final", file: collection + "/plan.go", old: "return h.Before(pinned) && !now", new: "return !h.After(pinned) && !now", test: collection},
		{name: "a dead collector makes usage final at zero", file: collection + "/boundary.go", old: "case !ev.Measured || ev.Ledger.LastCollected.IsZero():", new: "case !ev.Measured && ev.Ledger.LastCollected.IsZero():", test: collection},
		{name: "the boundary itself is settled", file: collection + "/boundary.go", old: "return b.none || h.Before(b.at)", new: "return b.none || !h.After(b.at)", test: collection},
		{name: "a code inside of the answer is not looked at", file: opencost + "/decode.go", old: "if code := string(value); code != fmt.Sprint(http.StatusOK) {", new: "if code := string(value); code != fmt.Sprint(http.StatusOK) && code == \"\" {", test: opencost},
		{name: "the answer for another hour is taken", file: opencost + "/allocation.go", old: "if !q.is(q.Start, i.windowStart) || !q.is(q.End, i.windowEnd) {", new: "if !q.is(q.Start, i.windowStart) {", test: opencost},
		{name: "a second document is not seen", file: opencost + "/decode.go", old: "	switch _, err := d.ReadToken(); {\n", new: "	switch err := error(io.EOF); {\n", test: opencost},
		{name: "an hour ahead is collected", file: hour + "/hour.go", old: "if pinned.After(now.Add(maxLead)) {", new: "if pinned.After(now.Add(maxLead + Length)) {", test: hour},
		{name: "an hour is that of the writer's zone", file: hour + "/hour.go", old: "return t.UTC().Truncate(Length)", new: "return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), 0, 0, 0, time.UTC)", test: hour},
		{name: "half a micro is cut off a rate", file: pricing + "/rate.go", old: "rest[0] >= '5'", new: "rest[0] > '5'", test: pricing},
	}
}

// statements are wrong SQL.
func statements() []mutant {
	const sql, test = "internal/clients/postgres/sql", "internal/clients/postgres"
	return []mutant{
		{name: "a charge that says the same is written again", file: sql + "/merge_charges.sql", old: "            IS DISTINCT FROM\n            (s.amount_micros", new: "            IS NOT DISTINCT FROM\n            (s.amount_micros", test: test, run: "TestChargesAreMerged"},
		{name: "a final charge vanishes", file: sql + "/delete_vanished_charges.sql", old: "   AND NOT c.finalized\n", new: "", test: test, run: "TestFinalChargesStay"},
		{name: "charges of another cluster vanish", file: sql + "/delete_vanished_charges.sql", old: " WHERE c.cluster_id = @cluster_id\n", new: " WHERE c.cluster_id <> '' AND @cluster_id::text <> ''\n", test: test, run: "TestFinalChargesStay"},
		{name: "a watermark falls", file: sql + "/advance_watermarks.sql", old: "AND old.finalized_through >= staged_windows.finalized_through)\n ORDER BY subscription_uid\nON CONFLICT (cluster_id, subscription_uid) DO UPDATE\n   SET finalized_through = excluded.finalized_through,\n       updated_at = excluded.updated_at\n WHERE w.finalized_through < excluded.finalized_through;", new: "AND old.finalized_through = staged_windows.finalized_through)\n ORDER BY subscription_uid\nON CONFLICT (cluster_id, subscription_uid) DO UPDATE\n   SET finalized_through = excluded.finalized_through,\n       updated_at = excluded.updated_at;", test: test, run: "TestChargesAreMerged"},
		{name: "a row counts for the second before its life", file: sql + "/usage.sql", old: "least(m.ended, l.active_to) - greatest(m.began, l.active_from) AS span", new: "least(m.ended, l.active_to) - m.began AS span", test: test, run: "TestUsage"},
		{name: "a Job with another suffix is a CronJob's", file: sql + "/usage.sql", old: "substring(controller FROM '^(.*)-[0-9]+$') END AS cron_job", new: "substring(controller FROM '^(.*)-.*$') END AS cron_job", test: test, run: "TestUsage"},
		{name: "the first hour of a day is not summed up", file: sql + "/summaries.sql", old: "window_start >= @day_start AND window_start < @day_end", new: "window_start > @day_start AND window_start < @day_end", test: test, run: "TestSummaries"},
		{name: "a row that OpenCost has forgotten stays", file: sql + "/drop_stale_allocations.sql", old: "       AND NOT a.is_finalized\n       AND NOT EXISTS (", new: "       AND a.is_finalized\n       AND NOT EXISTS (", test: test, run: "TestStoreHour"},
		{name: "an hour that was spared is made final", file: sql + "/finalize_stragglers.sql", old: " AND a.hour <> ALL (@spared::timestamptz[])\n", new: " AND coalesce(@spared::timestamptz[] IS NOT NULL, true)\n", test: test, run: "TestFinalizeStragglers"},
		{name: "the oldest version of a Subscription is charged", file: sql + "/newest_subscriptions.sql", old: "ORDER BY uid, id DESC", new: "ORDER BY uid, id", test: test, run: "TestNewestSubscriptions"},
		{name: "the oldest hour that may still be fetched is given up", file: sql + "/settle_lost_hours.sql", old: "       AND hour < @oldest\n       AND state = 'failed'", new: "       AND hour <= @oldest\n       AND state = 'failed'", test: test, run: "TestSettleLostHours"},
		{name: "usage of other clusters is charged", file: sql + "/usage.sql", old: "     WHERE cluster_id = @cluster_id\n       AND aggregation = @aggregation\n       AND hour >= @first_hour", new: "     WHERE cluster_id <> '' AND @cluster_id::text <> ''\n       AND aggregation = @aggregation\n       AND hour >= @first_hour", test: test, run: "TestUsage"},
	}
}

// shells are wrong orders of work, and missing looks.
func shells() []mutant {
	const subscription, frame, charge, webhook = "internal/controller/finops/subscription", "internal/controller/frame", "internal/jobs/charge", "internal/webhook"
	return []mutant{
		{name: "a contract ends on what the cache says", file: subscription + "/external.go", old: "in = e.gather(ctx, s, e.live)", new: "in = e.gather(ctx, s, e.cached)", test: subscription},
		{name: "a decision is not stored before it is followed", file: subscription + "/external.go", old: "if err := e.statuses.Keep(ctx, s); err != nil {", new: "if err := ctx.Err(); err != nil {", test: subscription},
		{name: "the finalizer comes after the activation", file: frame + "/finalizer.go", old: "if finalizer == \"\" || meta.WasDeleted(mg) || meta.FinalizerExists(mg, finalizer) {", new: "if finalizer == \"\" || meta.WasDeleted(mg) || meta.FinalizerExists(mg, finalizer) || mg.GetCondition(\"Active\").Status != \"True\" {", test: subscription},
		{name: "a restored object is not told that it has ended", file: subscription + "/recall.go", old: "if at := stored.DeactivatedAt; untold(s.Status.DeactivatedAt, at) {", new: "if at := stored.DeactivatedAt; untold(s.Status.DeactivatedAt, at) && at.IsZero() {", test: "internal/faults", run: "TestRestored"},
		{name: "who was restored without an end is charged on", file: charge + "/terms.go", old: "if known := recorded[s.uid].differs; known != \"\" {", new: "if known := recorded[s.uid].differs; known != \"\" && s.deleting {", test: "internal/faults", run: "TestRestored"},
		{name: "a status that is the same is written again", file: frame + "/statuses.go", old: "	if s.holds(ctx, obj) {\n", new: "	if s.holds(ctx, obj) && ctx.Err() != nil {\n", test: subscription},
		{name: "the finalizer goes though the object has changed", file: charge + "/release.go", old: "if !s.isStill(&now) {", new: "if !s.isStill(&now) && ctx.Err() != nil {", test: charge, run: "TestChanged"},
		{name: "who has failed is let go", file: charge + "/release.go", old: "return s.behind() || s.changed", new: "return s.changed", test: charge},
		{name: "the mirror is not told of a release", file: charge + "/release.go", old: "if _, err := postgres.MarkSubscriptionsDeleted(ctx, r.pool, r.ClusterID, r.now, uids...); err != nil {", new: "if _, err := postgres.MarkSubscriptionsDeleted(ctx, r.pool, r.ClusterID, r.now); err != nil {", test: charge},
		{name: "one is settled though somebody collects", file: charge + "/one.go", old: "	if w.charging {\n", new: "	if w.charging && ctx.Err() != nil {\n", test: charge, run: "TestRelease"},
		{name: "a namesake is let go", file: charge + "/one.go", old: "case found && s.UID == r.one.UID:", new: "case found:", test: charge, run: "TestRelease"},
		{name: "one of whom nobody asked to go is settled", file: charge + "/one.go", old: "if s := newSubject(o); s.deleting {", new: "if s := newSubject(o); s.uid != \"\" {", test: charge, run: "TestRelease"},
		{name: "who has changed meanwhile is said to be gone", file: charge + "/one.go", old: "	case only.changed:\n", new: "	case only.changed && err != nil:\n", test: charge, run: "TestRelease"},
		{name: "a reason to stay is not told", file: charge + "/one.go", old: "return charge.Departing.Hold(departure), nil", new: "_ = departure\n	return charge.Hold{}, nil", test: charge, run: "TestRelease"},
		{name: "a list of before the loss is evidence of it", file: subscription + "/evidence.go", old: "	if version < since {\n", new: "	if version < since && version == 0 {\n", test: subscription, run: "TestEvidence"},
		{name: "a restored store is evidence", file: subscription + "/evidence.go", old: "since = max(since, e.latest.Load())", new: "since = max(since, e.latest.Load()/1000)", test: subscription, run: "TestEvidence"},
		{name: "a list at hand is evidence for ever", file: subscription + "/evidence.go", old: "if f.members != nil && f.version >= since {", new: "if f.members != nil {", test: subscription, run: "TestEvidence"},
		{name: "one is settled though it is served", file: subscription + "/builtin.go", old: "if b == nil || !noCollector {", new: "if b == nil {", test: subscription, run: "TestBuiltin"},
		{name: "one is settled before its wait is over", file: subscription + "/builtin.go", old: "	u.From = u.Since.Add(b.after)\n", new: "	u.From = u.Since\n", test: subscription, run: "TestBuiltin"},
		{name: "who waits begins anew with every restart", file: subscription + "/builtin.go", old: "if since, ok := gate.UnservedSince(said.Message); ok {", new: "if since, ok := gate.UnservedSince(said.Message); ok && b.last(s).held != \"\" {", test: subscription, run: "TestBuiltin"},
		{name: "an attempt that was cancelled has succeeded", file: "internal/objects/conflict.go", old: "	_ = retry.RetryOnConflict(retry.DefaultRetry, func() error { //nolint:forbidigo // Here alone.\n		last = change()\n		return last\n	})\n	return last\n", new: "	return retry.RetryOnConflict(retry.DefaultRetry, func() error {\n		last = change()\n		return last\n	})\n", test: "internal/objects"},
		{name: "a kind counts before the API server tells of it", file: "internal/controller/safestart.go", old: "return failed == nil && len(absent) == 0, nil", new: "return failed == nil, nil", test: "internal/controller", run: "TestTold"},
		{name: "a busy API server ends the wait for a kind", file: "internal/controller/safestart.go", old: "return failed == nil && len(absent) == 0, nil", new: "return len(absent) == 0, failed", test: "internal/controller", run: "TestTold"},
		{name: "of two clusters that come at once both have the id", file: "internal/clients/postgres/clusters.go", old: "err == nil {\n			holder, err = clusterHolder(ctx, db, o.ClusterID)\n", new: "err == nil {\n			holder = o.Identity\n", test: "internal/clients/postgres", run: "TestTwoClusters"},
		{name: "a cluster that nobody knows keeps an id", file: "internal/clients/postgres/clusters.go", old: "	if o.Identity == \"\" {\n", new: "	if o.ClusterID == \"\" {\n", test: "internal/clients/postgres", run: "TestTwoClusters"},
		{name: "a cluster id is everybody's", file: "internal/clients/postgres/clusters.go", old: "if holder != o.Identity {", new: "if holder == \"\" {", test: "internal/clients/postgres", run: "TestTwoClustersOfOneID"},
		{name: "a run that was stopped fails for something else", file: "internal/jobs/execution/record.go", old: "if err != nil && ctx.Err() != nil {", new: "if err != nil && ctx == nil {", test: "internal/jobs/allocation", run: "TestInterrupted"},
		{name: "a Subscription may be its own parent", file: webhook + "/subscription.go", old: "	if s.Spec.Parent != nil {\n		if verdict", new: "	if s.Spec.Parent != nil && s.Spec.Lifecycle != nil {\n		if verdict", test: webhook},
		{name: "an Offering goes while others depend on it", file: webhook + "/offering.go", old: "if o.DeletionTimestamp != nil || v.doomed(ctx, o) {", new: "if o.DeletionTimestamp == nil || v.doomed(ctx, o) {", test: webhook},
	}
}
