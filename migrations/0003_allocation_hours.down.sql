DROP TABLE allocation_hours;
