-- Whose a cluster id is: the uid of the namespace kube-system of the first cluster that used it. A second one under the
-- same id would take the first one's rows for its own.
CREATE TABLE cluster_ids (
    cluster_id  TEXT COLLATE "C" NOT NULL,
    identity    TEXT COLLATE "C" NOT NULL,

    CONSTRAINT cluster_ids_pkey PRIMARY KEY (cluster_id),
    CONSTRAINT cluster_is_named CHECK (cluster_id <> ''),
    CONSTRAINT cluster_is_known CHECK (identity <> '')
);
