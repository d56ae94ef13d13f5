// Package stats holds the statistics that the engine rests on: measures of
// concentration and location, ratios with their intervals, stratified
// (Mantel-Haenszel) ratios, exact tests, trend, block bootstrap, permutation
// with the maximum statistic, agreement, false-discovery rate and conditional
// logistic regression.
//
// It is pure: numbers in, numbers out. It knows nothing of waits, CPUs or
// time, and it draws random numbers only from the generator that the caller
// passes, so that a result can be repeated.
//
// Conventions: NaN is "unknown" or "not defined for this input", never zero.
// A ratio may be +Inf; its interval then keeps a finite lower end. Inputs that
// are negative, infinite or NaN where a count or a time is meant give NaN,
// never a panic. Intervals are of 95 % unless a function takes a level.
package stats
