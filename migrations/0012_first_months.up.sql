-- The months that the first runs write to. From here on each run makes its own, and the controller the next two.
SELECT finops_ensure_months(now() - interval '1 month', now() + interval '2 months');
