-- The permutations as correlate does them: labels of whole visits are drawn anew
-- within their strata, {rounds} times, with no join by time. One set of draws
-- serves the count of stalls on heavy CPUs, the trend with dose and the maximum
-- over single CPUs.

CREATE OR REPLACE TEMP TABLE drawn AS
WITH s AS (
	SELECT s.stalls, t.first, t.n FROM stalled s JOIN strata t USING (stratum)
), d AS (
	SELECT p.range AS round, s.stalls, s.first + floor(random() * s.n)::INTEGER AS k FROM range({rounds}) p CROSS JOIN s
)
SELECT d.round, l.cpu, sum(d.stalls)::INTEGER AS stalls, sum(d.stalls * l.heavy)::INTEGER AS heavy
FROM d JOIN labels l USING (k) GROUP BY d.round, l.cpu;

-- The trend with dose within sockets.
CREATE OR REPLACE TEMP TABLE drawn_within AS
WITH s AS (
	SELECT s.stalls, t.first, t.n FROM stalled s JOIN strata_within t USING (stratum, socket)
), d AS (
	SELECT p.range AS round, s.stalls, s.first + floor(random() * s.n)::INTEGER AS k FROM range({rounds}) p CROSS JOIN s
)
SELECT d.round, sum(d.stalls * l.rank) AS trend FROM d JOIN within l USING (k) GROUP BY d.round;

-- The placebo: stalls moved by 20 s both ways.
CREATE OR REPLACE TEMP TABLE drawn_placebo AS
WITH s AS (
	SELECT s.stalls, t.first, t.n FROM placebo s JOIN strata t USING (stratum)
), d AS (
	SELECT p.range AS round, s.stalls, s.first + floor(random() * s.n)::INTEGER AS k FROM range({rounds}) p CROSS JOIN s
)
SELECT d.round, sum(d.stalls * l.heavy)::INTEGER AS heavy FROM d JOIN labels l USING (k) GROUP BY d.round;
