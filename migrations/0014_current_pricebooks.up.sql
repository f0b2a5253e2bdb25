-- Which of its rows a price book says at present. Rates that come back are a row that is stored already, so the newest
-- row of a book is not always the last it said; a run that finds the book unready goes on with the last.
CREATE TABLE current_pricebooks (
    pricebook_id  BIGINT NOT NULL,
    since         TIMESTAMPTZ NOT NULL,
    uid           UUID NOT NULL,
    cluster_id    TEXT COLLATE "C" NOT NULL,

    CONSTRAINT current_pricebooks_pkey PRIMARY KEY (cluster_id, uid),
    CONSTRAINT current_book_is_stored FOREIGN KEY (cluster_id, pricebook_id) REFERENCES pricebooks (cluster_id, id)
);

INSERT INTO current_pricebooks (pricebook_id, since, uid, cluster_id)
SELECT DISTINCT ON (cluster_id, uid) id, first_seen_at, uid, cluster_id
  FROM pricebooks
 ORDER BY cluster_id, uid, id DESC;
