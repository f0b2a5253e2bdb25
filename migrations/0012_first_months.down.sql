-- Months hold measurements and bills; they go with their tables, not before.
SELECT 1;
