ALTER TABLE allocation_hours DROP COLUMN late_changes;
