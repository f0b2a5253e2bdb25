DROP TABLE allocation_days;
