DROP TABLE provider_allocations;
