-- Whoever comes first keeps it.
INSERT INTO cluster_ids (cluster_id, identity) VALUES (@cluster_id, @identity)
    ON CONFLICT DO NOTHING;
