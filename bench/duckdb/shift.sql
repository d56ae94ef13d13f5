-- The permutations: stalls are shifted, around the ends of their five minutes,
-- and joined with the readings anew, {rounds} times. The statistic is the number
-- of stalls on heavy CPUs beyond what the strata that they fall into expect.
WITH shifts AS (
	SELECT p.range AS round, (random() * 300000000)::BIGINT AS by_us FROM range({rounds}) p
), s AS (
	SELECT h.round, {from} + (s.at_us - {from}) // 300000000 * 300000000 + ((s.at_us - {from}) % 300000000 + h.by_us) % 300000000 AS at_us
	FROM stalls s CROSS JOIN shifts h
), placed AS (
	SELECT s.round, r.visit FROM s ASOF JOIN readings r ON r.at_us <= s.at_us
), counted AS (
	SELECT p.round, sum(v.heavy::INTEGER - t.heavy) AS excess
	FROM placed p JOIN visits v USING (visit) JOIN strata t USING (stratum) GROUP BY p.round
), observed AS (
	SELECT sum(v.heavy::INTEGER - t.heavy) AS excess FROM stalls JOIN visits v USING (visit) JOIN strata t USING (stratum)
)
SELECT ((1 + (SELECT count(*) FROM counted c WHERE c.excess >= o.excess)) / (1 + {rounds}))::DOUBLE FROM observed o;
