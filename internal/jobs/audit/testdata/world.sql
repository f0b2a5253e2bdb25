-- A Subscription with a fee and a meter, activated at a quarter past nine. Its rows are the worked figures of the
-- billing model: an opening tick of three quarters, a full one, and two measured rows under two price books.
SELECT finops_ensure_months('2026-04-01', '2026-05-01');

INSERT INTO pricebooks (cluster_id, namespace, name, uid, generation, currency, content_hash, cpu_hour_micros) VALUES
    ('test', 'finops', 'spring', '10000000-0000-4000-8000-000000000001', 1, 'EUR', 'a', 31000),
    ('test', 'finops', 'spring', '10000000-0000-4000-8000-000000000001', 2, 'EUR', 'b', 33333);

INSERT INTO offerings (cluster_id, namespace, name, uid, generation, content_hash, valid_from, spec) VALUES
    ('test', 'catalogue', 'postgres', '20000000-0000-4000-8000-000000000001', 1, 'a', '2026-04-01T08:00:00Z',
     '{"pricing": {"subscriptionFee": {"tickAlignment": "HourBoundary", "period": "1", "priceMicros": 40000000},
                   "resourcePricing": [{"name": "cpuHour", "margins": {"factorMilli": 1150}}]}}');

INSERT INTO subscriptions (cluster_id, namespace, name, uid, generation, content_hash, valid_from, activated_at,
                           offering_namespace, offering_name, offering_uid, spec) VALUES
    ('test', 'team-a', 'orders', '30000000-0000-4000-8000-000000000001', 1, 'a', '2026-04-01T09:15:00Z',
     '2026-04-01T09:15:00Z', 'catalogue', 'postgres', '20000000-0000-4000-8000-000000000001',
     '{"usageSources": [{"namespace": "team-a", "resourceType": "StatefulSet", "name": "orders"}]}');

INSERT INTO provider_allocations (cluster_id, aggregation, hour, namespace, name, pod, controller, controller_kind,
                                  alloc_start, alloc_end, collected_at, is_finalized, cpu_core_usage_avg, pricebook_id,
                                  currency) VALUES
    ('test', 'namespace,pod,container', '2026-04-01T10:00:00Z', 'team-a', 'team-a/orders-0/db', 'orders-0', 'orders',
     'statefulset', '2026-04-01T10:00:00Z', '2026-04-01T10:20:00Z', '2026-04-01T11:20:00Z', true, 1, 1, 'EUR'),
    ('test', 'namespace,pod,container', '2026-04-01T10:00:00Z', 'team-a', 'team-a/orders-1/db', 'orders-1', 'orders',
     'statefulset', '2026-04-01T10:20:00Z', '2026-04-01T11:00:00Z', '2026-04-01T11:20:00Z', true, 1, 2, 'EUR'),
    ('test', 'namespace,pod,container', '2026-04-01T10:00:00Z', 'team-b', 'team-b/orders-0/db', 'orders-0', 'orders',
     'statefulset', '2026-04-01T10:00:00Z', '2026-04-01T11:00:00Z', '2026-04-01T11:20:00Z', true, 7, 2, 'EUR');

INSERT INTO usage_claims (hour, counted_at, cluster_id, aggregation, meter, measured, unclaimed, unrated) VALUES
    ('2026-04-01T10:00:00Z', '2026-04-01T12:00:07Z', 'test', 'namespace,pod,container', 'cpuHour', 8, 7, 0);

INSERT INTO subscription_watermarks (cluster_id, subscription_uid, finalized_through, updated_at) VALUES
    ('test', '30000000-0000-4000-8000-000000000001', '2026-04-01T10:00:00Z', '2026-04-01T12:00:00Z');

INSERT INTO subscription_charges (cluster_id, subscription_uid, window_start, window_end, charge_source, amount_micros,
                                  quantity, unit_price_micros, currency, finalized, offering_version_id,
                                  subscription_version_id, pricebook_id, details, created_at, updated_at) VALUES
    ('test', '30000000-0000-4000-8000-000000000001', '2026-04-01T09:00:00Z', '2026-04-01T10:00:00Z', 'subscription',
     30000000, 1, 40000000, 'EUR', true, 1, 1, NULL, '{"proratedSeconds": 2700}', '2026-04-01T10:00:07Z', '2026-04-01T10:00:07Z'),
    ('test', '30000000-0000-4000-8000-000000000001', '2026-04-01T10:00:00Z', '2026-04-01T11:00:00Z', 'subscription',
     40000000, 1, 40000000, 'EUR', true, 1, 1, NULL, NULL, '2026-04-01T11:00:07Z', '2026-04-01T11:00:07Z'),
    ('test', '30000000-0000-4000-8000-000000000001', '2026-04-01T10:00:00Z', '2026-04-01T11:00:00Z', 'cpuHour',
     37438, 1, NULL, 'EUR', true, 1, 1, NULL,
     '{"books": [{"pricebookId": 1, "currency": "EUR", "unitPriceMicros": 35650, "quantity": "0.333333333333"},
                 {"pricebookId": 2, "currency": "EUR", "unitPriceMicros": 38332, "quantity": "0.666666666666"}]}',
     '2026-04-01T12:00:07Z', '2026-04-01T12:00:07Z');
