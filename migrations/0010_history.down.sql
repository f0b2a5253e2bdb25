DROP FUNCTION finops_refuse_change() CASCADE; -- With every trigger that calls it, those of the months included.
