-- What the test comes to, in one row.
WITH observed AS (
	SELECT sum(stalls) FILTER (heavy) AS exposed, sum(stalls) FILTER (NOT heavy) AS unexposed, sum(stalls * rank) AS trend FROM stalled
), expected AS (
	SELECT sum(s.stalls * t.heavy) AS exposed FROM stalled s JOIN strata t USING (stratum)
), rounds AS (
	SELECT d.round, sum(d.heavy) AS heavy, sum(d.stalls * o.rank) AS trend FROM drawn d JOIN dose o USING (cpu) GROUP BY d.round
), share AS (
	SELECT l.stratum, l.cpu, count(*) / any_value(t.n) AS share FROM labels l JOIN strata t USING (stratum) GROUP BY l.stratum, l.cpu
), by_stratum AS (
	SELECT stratum, sum(stalls) AS stalls FROM stalled GROUP BY stratum
), by_cpu AS (
	SELECT h.cpu, sum(b.stalls * h.share) AS expected FROM share h JOIN by_stratum b USING (stratum) GROUP BY h.cpu
), cpu_seen AS (
	SELECT b.cpu, (coalesce(s.stalls, 0) - b.expected) / sqrt(b.expected + 0.5) AS excess
	FROM by_cpu b LEFT JOIN (SELECT cpu, sum(stalls) AS stalls FROM stalled GROUP BY cpu) s USING (cpu)
), top AS (
	SELECT d.round, max((d.stalls - b.expected) / sqrt(b.expected + 0.5)) AS excess FROM drawn d JOIN by_cpu b USING (cpu) GROUP BY d.round
), cpu_p AS (
	SELECT c.cpu, (1 + (SELECT count(*) FROM top t WHERE t.excess >= c.excess)) / (1 + {rounds}) AS p FROM cpu_seen c
)
SELECT o.exposed::BIGINT, o.unexposed::BIGINT, e.exposed::DOUBLE,
	((1 + (SELECT count(*) FROM rounds r WHERE r.heavy >= o.exposed)) / (1 + {rounds}))::DOUBLE,
	((1 + (SELECT count(*) FROM rounds r WHERE r.trend >= o.trend - 1e-9)) / (1 + {rounds}))::DOUBLE,
	((1 + (SELECT count(*) FROM drawn_within r WHERE r.trend >= o.trend - 1e-9)) / (1 + {rounds}))::DOUBLE,
	((1 + (SELECT count(*) FROM drawn_placebo r WHERE r.heavy >= (SELECT sum(stalls * heavy::INTEGER) FROM placebo))) / (1 + {rounds}))::DOUBLE,
	(SELECT count(*) FROM cpu_p WHERE p <= 0.005)::BIGINT
FROM observed o, expected e;
