-- The interrupt test up to its permutations, as correlate does it: heavy CPUs
-- of each hour, visits, strata of load and five minutes, stalls and where LGWR
-- was at their instants. {means} is avg(cpuN) AS "N" for each CPU.

CREATE OR REPLACE TEMP TABLE hourly AS
WITH wide AS (
	SELECT (from_us - {from}) // 3600000000 AS hour, {means} FROM interrupts GROUP BY hour
)
SELECT hour, cpu::INTEGER AS cpu, per_s, per_s > 1000 AS heavy
FROM (UNPIVOT wide ON COLUMNS(* EXCLUDE hour) INTO NAME cpu VALUE per_s);

-- Dose of a CPU: its rate while LGWR was elsewhere, as a rank among CPUs.
CREATE OR REPLACE TEMP TABLE dose AS
WITH own AS (
	SELECT CASE p.cpu {cases} END AS per_s, p.cpu
	FROM placement p JOIN interrupts i ON i.from_us = p.at_us
), total AS (
	SELECT cpu, avg(per_s) * {seconds} AS total FROM hourly GROUP BY cpu
), occupied AS (
	SELECT cpu, sum(per_s) AS total, count(*) AS n FROM own GROUP BY cpu
), away AS (
	SELECT t.cpu, (t.total - coalesce(o.total, 0)) / ({seconds} - coalesce(o.n, 0)) AS per_s
	FROM total t LEFT JOIN occupied o USING (cpu)
)
SELECT cpu, per_s, percent_rank() OVER (ORDER BY per_s) AS rank FROM away;

-- Load of an instant: mean demand over [t-30 s, t-2 s).
CREATE OR REPLACE TEMP TABLE load AS
SELECT from_us, avg(per_s) OVER (ORDER BY from_us ROWS BETWEEN 30 PRECEDING AND 3 PRECEDING) AS per_s FROM demand;

CREATE OR REPLACE TEMP TABLE cuts AS
SELECT quantile_cont(per_s, 1/3.0) AS low, quantile_cont(per_s, 2/3.0) AS high FROM load;

CREATE OR REPLACE TEMP TABLE readings AS
WITH marked AS (
	SELECT at_us, cpu, (cpu IS DISTINCT FROM lag(cpu) OVER (ORDER BY at_us))::INTEGER AS moved FROM placement
)
SELECT at_us, cpu, sum(moved) OVER (ORDER BY at_us ROWS UNBOUNDED PRECEDING)::INTEGER AS visit FROM marked;

CREATE OR REPLACE TEMP TABLE visits AS
WITH v AS (
	SELECT visit, min(at_us) AS from_us, any_value(cpu) AS cpu, count(*) AS readings FROM readings GROUP BY visit
), loaded AS (
	SELECT v.*, (v.from_us - {from}) // 300000000 AS block,
		CASE WHEN l.per_s IS NULL THEN 3 WHEN l.per_s <= c.low THEN 0 WHEN l.per_s <= c.high THEN 1 ELSE 2 END AS level
	FROM v ASOF LEFT JOIN load l ON l.from_us <= v.from_us CROSS JOIN cuts c
)
SELECT l.*, h.heavy, d.rank, t.socket, (l.block * 4 + l.level)::INTEGER AS stratum
FROM loaded l
JOIN hourly h ON h.cpu = l.cpu AND h.hour = (l.from_us - {from}) // 3600000000
JOIN dose d ON d.cpu = l.cpu
JOIN topology t ON t.cpu = l.cpu;

-- One row a reading, numbered so that those of a stratum (and, in within, of
-- one of its sockets) follow each other: a draw among them goes by time.
CREATE OR REPLACE TEMP TABLE labels AS
SELECT (row_number() OVER (ORDER BY v.stratum))::INTEGER - 1 AS k, v.stratum, v.cpu, v.heavy::INTEGER AS heavy
FROM readings r JOIN visits v USING (visit);

CREATE OR REPLACE TEMP TABLE within AS
SELECT (row_number() OVER (ORDER BY v.stratum, v.socket))::INTEGER - 1 AS k, v.stratum, v.socket, v.rank
FROM readings r JOIN visits v USING (visit);

CREATE OR REPLACE TEMP TABLE strata AS
SELECT stratum, min(k) AS first, count(*) AS n, avg(heavy) AS heavy FROM labels GROUP BY stratum;

CREATE OR REPLACE TEMP TABLE strata_within AS
SELECT stratum, socket, min(k) AS first, count(*) AS n FROM within GROUP BY stratum, socket;

-- Waits seen at one instant are one stall; the instant is placed by the reading before.
CREATE OR REPLACE TEMP TABLE stalls AS
WITH s AS (
	SELECT at_us, max(waited_us) AS waited_us FROM waits WHERE waited_us >= 100000 GROUP BY at_us
)
SELECT s.at_us, r.visit FROM s ASOF JOIN readings r ON r.at_us <= s.at_us;

CREATE OR REPLACE TEMP TABLE shifted AS
WITH s AS (
	SELECT at_us + 20000000 AS at_us FROM stalls UNION ALL SELECT at_us - 20000000 FROM stalls
)
SELECT s.at_us, r.visit FROM s ASOF JOIN readings r ON r.at_us <= s.at_us WHERE s.at_us < {to};

-- All stalls of a visit share its label.
CREATE OR REPLACE TEMP TABLE stalled AS
SELECT visit, v.stratum, v.socket, v.cpu, v.heavy, v.rank, count(*) AS stalls
FROM stalls JOIN visits v USING (visit) GROUP BY ALL;

CREATE OR REPLACE TEMP TABLE placebo AS
SELECT visit, v.stratum, v.heavy, count(*) AS stalls
FROM shifted JOIN visits v USING (visit) GROUP BY ALL;
