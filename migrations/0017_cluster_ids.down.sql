DROP TABLE cluster_ids;
