-- What was measured for good and is answered otherwise now is left as it is: somebody may have paid for it. But it is
-- counted, because silence hides money. At most, over all answers: an answer that is repeated is no news.
ALTER TABLE allocation_hours ADD COLUMN late_changes BIGINT NOT NULL DEFAULT 0;
ALTER TABLE allocation_hours ADD CONSTRAINT late_changes_not_negative CHECK (late_changes >= 0);
