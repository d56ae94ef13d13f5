package stats

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// logit holds the differences control - case of all sets in one slice, divided
// by the covariates' scales, and the likelihood with its derivatives at the
// point evaluated last.
type logit struct {
	covariates  int
	differences []float64
	ends        []int // of each set in differences
	scales      []float64

	gradient    []float64
	information *mat.SymDense
	weights     []float64 // of the controls of one set
	mean        []float64
}

func newLogit(sets []RiskSet) (*logit, error) {
	if len(sets) == 0 {
		return nil, errors.New("conditional logit: no sets")
	}
	p := len(sets[0].Case)
	if p < 1 || p > maxCovariates {
		return nil, fmt.Errorf("conditional logit: %d covariates, 1 to %d are possible", p, maxCovariates)
	}
	l := &logit{covariates: p, gradient: make([]float64, p), information: mat.NewSymDense(p, nil), mean: make([]float64, p)}
	for i, s := range sets {
		if err := checkRow(s.Case, p); err != nil {
			return nil, fmt.Errorf("conditional logit: set %d: case: %w", i, err)
		}
		for _, control := range s.Controls {
			if err := checkRow(control, p); err != nil {
				return nil, fmt.Errorf("conditional logit: set %d: control: %w", i, err)
			}
			for k, v := range control {
				l.differences = append(l.differences, v-s.Case[k])
			}
		}
		if len(s.Controls) > 0 {
			l.ends = append(l.ends, len(l.differences))
		}
	}
	return l, nil
}

func checkRow(row []float64, covariates int) error {
	if len(row) != covariates {
		return fmt.Errorf("%d covariates where the first set has %d", len(row), covariates)
	}
	for _, v := range row {
		// Differences and their squares must stay finite as well.
		if !(math.Abs(v) < 1e100) {
			return errors.New("a covariate is not finite")
		}
	}
	return nil
}

// scale divides each covariate by the root mean square of its differences, so
// that redo bytes/s and a yes-or-no weigh alike in the linear algebra. It is
// false where a covariate never differs within a set.
func (l *logit) scale() bool {
	l.scales = make([]float64, l.covariates)
	for i, d := range l.differences {
		l.scales[i%l.covariates] += d * d
	}
	rows := float64(len(l.differences) / l.covariates)
	for k, sum := range l.scales {
		l.scales[k] = math.Sqrt(sum / rows)
		if !(l.scales[k] > 0) {
			return false
		}
	}
	for i := range l.differences {
		l.differences[i] /= l.scales[i%l.covariates]
	}
	return true
}

// evaluate gives the log likelihood at beta (per scaled covariate) and leaves
// its gradient and information matrix in l.
func (l *logit) evaluate(beta []float64) float64 {
	clear(l.gradient)
	l.information.Zero()
	var value float64
	from := 0
	for _, to := range l.ends {
		value += l.addSet(beta, l.differences[from:to])
		from = to
	}
	return value
}

// addSet adds one set, given the rows of its differences; the case itself is
// the row of zeros.
func (l *logit) addSet(beta, rows []float64) float64 {
	p := l.covariates
	l.weights = l.weights[:0]
	largest := 0.0 // the case's own exponent
	for at := 0; at < len(rows); at += p {
		var exponent float64
		for k, b := range beta {
			exponent += b * rows[at+k]
		}
		l.weights = append(l.weights, exponent)
		largest = max(largest, exponent)
	}
	own := math.Exp(-largest)
	total := own
	for j, exponent := range l.weights {
		l.weights[j] = math.Exp(exponent - largest)
		total += l.weights[j]
	}
	clear(l.mean)
	for j, w := range l.weights {
		for k := range l.mean {
			l.mean[k] += w / total * rows[j*p+k]
		}
	}
	for k, m := range l.mean {
		l.gradient[k] -= m
		for q := k; q < p; q++ {
			// Around the mean, since mean squares minus squared means cancel.
			sum := own / total * m * l.mean[q]
			for j, w := range l.weights {
				sum += w / total * (rows[j*p+k] - m) * (rows[j*p+q] - l.mean[q])
			}
			l.information.SetSym(k, q, l.information.At(k, q)+sum)
		}
	}
	return -largest - math.Log(total)
}

// newtonStep solves information * step = gradient; not ok where the matrix is
// too near singular for that.
func (l *logit) newtonStep(chol *mat.Cholesky) (step *mat.VecDense, ok bool) {
	step = mat.NewVecDense(l.covariates, nil)
	err := chol.SolveVecTo(step, mat.NewVecDense(l.covariates, l.gradient))
	return step, err == nil
}

// maximise climbs from zero, where the derivatives in l are taken.
func (l *logit) maximise(fit *LogitFit) {
	beta := make([]float64, l.covariates)
	value := fit.Null
	for range newtonRounds {
		var chol mat.Cholesky
		if !chol.Factorize(l.information) {
			// It was regular at zero: the likelihood has gone flat on the way.
			l.separated(fit, beta)
			return
		}
		step, ok := l.newtonStep(&chol)
		if !ok {
			l.separated(fit, beta)
			return
		}
		if mat.Norm(step, math.Inf(1)) < settled {
			l.finish(fit, beta, &chol, value)
			return
		}
		value = l.advance(beta, step.RawVector().Data, value)
		for _, b := range beta {
			if !(math.Abs(b) <= runaway) {
				l.separated(fit, beta)
				return
			}
		}
	}
	fit.Status = NotConverged
}

// advance moves beta along step, halved until the likelihood does not fall.
func (l *logit) advance(beta, step []float64, value float64) float64 {
	from := slices.Clone(beta)
	length := 1.0
	for range halvings {
		for k := range beta {
			beta[k] = from[k] + length*step[k]
		}
		// Near the top a rise drowns in rounding.
		if moved := l.evaluate(beta); moved >= value-1e-12*math.Abs(value) {
			return moved
		}
		length /= 2
	}
	return l.evaluate(beta)
}

func (l *logit) finish(fit *LogitFit, beta []float64, chol *mat.Cholesky, value float64) {
	var covariance mat.SymDense
	if err := chol.InverseTo(&covariance); err != nil {
		fit.Status = NotConverged
		return
	}
	for k, b := range beta {
		fit.Coefficients[k] = b / l.scales[k]
		fit.StandardErrors[k] = math.Sqrt(covariance.At(k, k)) / l.scales[k]
	}
	fit.LogLikelihood, fit.Status = value, Converged
}

func (l *logit) separated(fit *LogitFit, beta []float64) {
	fit.Status = Separated
	for k, b := range beta {
		if math.Abs(b) > runaway/2 {
			fit.Coefficients[k] = math.Inf(int(math.Copysign(1, b)))
		}
	}
}
