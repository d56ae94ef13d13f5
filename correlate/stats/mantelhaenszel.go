package stats

import "math"

// RateStratum is one stratum of events over time: Exposed events in
// ExposedTime, Unexposed events in UnexposedTime.
type RateStratum struct{ Exposed, ExposedTime, Unexposed, UnexposedTime float64 }

func (s RateStratum) valid() bool {
	return countsAndTimes(s.Exposed, s.ExposedTime, s.Unexposed, s.UnexposedTime) &&
		(s.ExposedTime > 0 || s.Exposed == 0) && (s.UnexposedTime > 0 || s.Unexposed == 0)
}

// contrasts says whether the stratum compares anything: one without exposed
// or without unexposed time tells nothing of the ratio.
func (s RateStratum) contrasts() bool { return s.ExposedTime > 0 && s.UnexposedTime > 0 }

// Table is one stratum of a two by two table:
//
//	           case  not
//	exposed      A    B
//	unexposed    C    D
type Table struct{ A, B, C, D float64 }

func (t Table) valid() bool       { return countsAndTimes(t.A, t.B, t.C, t.D) }
func (t Table) exposed() float64  { return t.A + t.B }
func (t Table) other() float64    { return t.C + t.D }
func (t Table) total() float64    { return t.A + t.B + t.C + t.D }
func (t Table) contrasts() bool   { return t.exposed() > 0 && t.other() > 0 }
func (t Table) rate() RateStratum { return RateStratum{t.A, t.exposed(), t.C, t.other()} }

// MantelHaenszelRates is the rate ratio pooled over strata,
//
//	r = sum(A T0/T) / sum(B T1/T),
//
// A events in exposed time T1, B in unexposed T0, T = T1 + T0, with the
// variance of Greenland and Robins (Biometrics 41, 1985) for person-time:
// var(log r) = sum((A+B) T1 T0/T^2) / (sum(A T0/T) sum(B T1/T)).
//
// Strata without contrast are passed over. Where all events of the others are
// exposed (or none) the far end is +Inf (or 0) and the near end is exact, from
// the conditional likelihood. Without events the value is NaN within
// [0, +Inf]; without any contrast, or on invalid input, all is NaN.
func MantelHaenszelRates(strata []RateStratum) Ratio {
	var exposed, unexposed, variance float64
	contrasts := false
	for _, s := range strata {
		if !s.valid() {
			return unknownRatio()
		}
		if !s.contrasts() {
			continue
		}
		contrasts = true
		share := s.ExposedTime / (s.ExposedTime + s.UnexposedTime)
		exposed += s.Exposed * (1 - share)
		unexposed += s.Unexposed * share
		variance += (s.Exposed + s.Unexposed) * share * (1 - share)
	}
	if !contrasts {
		return unknownRatio()
	}
	if exposed == 0 || unexposed == 0 {
		return boundaryRates(strata, exposed > 0, unexposed > 0)
	}
	return waldRatio(exposed/unexposed, variance/(exposed*unexposed))
}

func boundaryRates(strata []RateStratum, anyExposed, anyUnexposed bool) Ratio {
	if !anyExposed && !anyUnexposed {
		return Ratio{Value: math.NaN(), Low: 0, High: math.Inf(1)}
	}
	terms := make([]conditional, 0, len(strata))
	for _, s := range strata {
		if events := s.Exposed + s.Unexposed; s.contrasts() && events > 0 {
			terms = append(terms, conditional{events, s.ExposedTime, s.UnexposedTime})
		}
	}
	return boundaryRatio(terms, anyExposed)
}

// MantelHaenszelRisks is the risk (or prevalence) ratio pooled over strata,
//
//	r = sum(A n0/n) / sum(C n1/n),
//
// with the variance of Greenland and Robins (1985) for counts: var(log r) =
// sum(m n1 n0/n^2 - A C/n) / (sum(A n0/n) sum(C n1/n)), m = A + C. Corner
// cases are as in MantelHaenszelRates; its exact ends are wider than risks
// need.
func MantelHaenszelRisks(tables []Table) Ratio {
	var exposed, unexposed, variance float64
	allCases := true
	rates := make([]RateStratum, 0, len(tables))
	for _, t := range tables {
		if !t.valid() {
			return unknownRatio()
		}
		if !t.contrasts() {
			continue
		}
		rates = append(rates, t.rate())
		allCases = allCases && t.B == 0 && t.D == 0
		n1, n0, n := t.exposed(), t.other(), t.total()
		exposed += t.A * n0 / n
		unexposed += t.C * n1 / n
		variance += (t.A+t.C)*(n1/n)*(n0/n) - t.A*t.C/n
	}
	if exposed == 0 || unexposed == 0 || allCases {
		// Where everyone is a case the variance is zero and says nothing.
		return MantelHaenszelRates(rates)
	}
	return waldRatio(exposed/unexposed, variance/(exposed*unexposed))
}

// MantelHaenszelOdds is the odds ratio pooled over strata, sum(AD/n) /
// sum(BC/n), with the variance of Robins, Breslow and Greenland (Biometrics
// 42, 1986), as R's mantelhaen.test. Where the ratio is +Inf or 0 that
// variance does not exist; the near end is then taken after adding one half to
// every cell (Haldane), which draws it towards 1.
func MantelHaenszelOdds(tables []Table) Ratio {
	for _, t := range tables {
		if !t.valid() {
			return unknownRatio()
		}
	}
	ratio := oddsPooled(tables, 0)
	if ratio.Value == 0 || math.IsInf(ratio.Value, 1) {
		halves := oddsPooled(tables, 0.5)
		if ratio.Value == 0 {
			return Ratio{Value: 0, Low: 0, High: halves.High}
		}
		return Ratio{Value: ratio.Value, Low: halves.Low, High: math.Inf(1)}
	}
	return ratio
}

// oddsPooled adds the given value to every cell of strata that have both rows.
func oddsPooled(tables []Table, add float64) Ratio {
	var r, s, pr, psqr, qs float64
	for _, t := range tables {
		if !t.contrasts() {
			continue
		}
		t = Table{t.A + add, t.B + add, t.C + add, t.D + add}
		n := t.total()
		concordant, discordant := t.A*t.D/n, t.B*t.C/n
		p, q := (t.A+t.D)/n, (t.B+t.C)/n
		r += concordant
		s += discordant
		pr += p * concordant
		psqr += p*discordant + q*concordant
		qs += q * discordant
	}
	if r == 0 || s == 0 {
		return Ratio{Value: r / s, Low: math.NaN(), High: math.NaN()}
	}
	return waldRatio(r/s, pr/(2*r*r)+psqr/(2*r*s)+qs/(2*s*s))
}
