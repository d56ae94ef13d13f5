package stats

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// maxCovariates bounds the covariates of a conditional logistic regression.
const maxCovariates = 8

// RiskSet is one case and its controls, each with the same covariates in the
// same order.
type RiskSet struct {
	Case     []float64
	Controls [][]float64
}

// FitStatus says how a regression ended.
type FitStatus uint8

const (
	// Converged says that coefficients and standard errors hold.
	Converged FitStatus = iota
	// Separated says that a combination of covariates tells the cases from all their
	// controls, so that the likelihood has no maximum. Coefficients that run
	// away are +Inf or -Inf, all other values NaN.
	Separated
	// Singular says that a covariate is constant within all sets or follows from the
	// others. Coefficients are NaN.
	Singular
	// NotConverged says that the iterations ran out. Coefficients are NaN.
	NotConverged
)

// String names the status for people.
func (s FitStatus) String() string {
	switch s {
	case Converged:
		return "converged"
	case Separated:
		return "separated"
	case Singular:
		return "singular"
	case NotConverged:
		return "not converged"
	}
	return "unknown"
}

// LogitFit is a fitted conditional logistic regression; slices are by
// covariate.
type LogitFit struct {
	Coefficients, StandardErrors []float64 // log odds per unit of the covariate
	// Null and LogLikelihood are at zero and at the maximum.
	Null, LogLikelihood float64
	Score               ChiSquared // Rao's test that all coefficients are zero
	Status              FitStatus
}

// Odds is the odds ratio per unit of covariate k with Wald's interval. Of a
// coefficient that ran away it is +Inf or 0 with unknown ends.
func (f *LogitFit) Odds(k int) Ratio {
	if f.Status != Converged {
		return Ratio{Value: math.Exp(f.Coefficients[k]), Low: math.NaN(), High: math.NaN()}
	}
	return waldRatio(math.Exp(f.Coefficients[k]), f.StandardErrors[k]*f.StandardErrors[k])
}

// ConditionalLogit fits a conditional logistic regression with one case per
// set: the likelihood is the product over sets of exp(b x_case) /
// sum(exp(b x_member)) (Breslow and Day, Statistical Methods in Cancer
// Research I, 1980, chapter 7; R's clogit). It is maximised by Newton-Raphson
// with step halving. Sets without controls say nothing and are passed over.
//
// An error means that the input is unusable: no or more than 8 covariates,
// rows of unequal length, or values that are not finite.
func ConditionalLogit(sets []RiskSet) (LogitFit, error) {
	l, err := newLogit(sets)
	if err != nil {
		return LogitFit{}, err
	}
	fit := LogitFit{
		Coefficients: nans(l.covariates), StandardErrors: nans(l.covariates),
		Null: math.NaN(), LogLikelihood: math.NaN(),
		Score: newChiSquared(math.NaN(), 0), Status: Singular,
	}
	if !l.scale() {
		return fit, nil
	}
	fit.Null = l.evaluate(make([]float64, l.covariates))
	var chol mat.Cholesky
	if !chol.Factorize(l.information) || !(chol.Cond() < singularCondition) {
		return fit, nil
	}
	step, ok := l.newtonStep(&chol)
	if !ok {
		return fit, nil
	}
	fit.Score = newChiSquared(mat.Dot(step, mat.NewVecDense(l.covariates, l.gradient)), l.covariates)
	l.maximise(&fit)
	return fit, nil
}

const (
	// singularCondition of the scaled information matrix: beyond it the
	// coefficients have no digits left.
	singularCondition = 1e12
	// runaway is a coefficient, per standard deviation of its covariate, that
	// only separation explains: odds of e^30.
	runaway = 30
	// newtonRounds: convergence is quadratic and takes about 6; a separated fit
	// grows by about 1 a round.
	newtonRounds = 100
	halvings     = 40
	settled      = 1e-9 // step per standard deviation that ends the search
)

func nans(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = math.NaN()
	}
	return v
}
