package report

import (
	"math"
	"strconv"
	"strings"
)

// unknown stands where a number is not known.
const unknown = "-"

// number writes a value with as many digits as it carries, thousands apart.
func number(v *float64, decimals int) string {
	if v == nil {
		return unknown
	}
	return thousands(strconv.FormatFloat(*v, 'f', decimals, 64))
}

// significant writes about three digits.
func significant(v *float64) string {
	if v == nil {
		return unknown
	}
	a := math.Abs(*v)
	switch {
	case a == 0:
		return "0"
	case a >= 100:
		return number(v, 0)
	case a >= 10:
		return number(v, 1)
	case a >= 1:
		return number(v, 2)
	}
	return strconv.FormatFloat(*v, 'g', 2, 64)
}

func percent(v *float64) string {
	if v == nil {
		return unknown
	}
	return strconv.FormatFloat(100**v, 'f', 1, 64) + " %"
}

// ratio writes a ratio; nil within a known interval is infinite.
func ratio(v *float64, interval [2]*float64) string {
	if v == nil && interval[0] != nil {
		return "infinite"
	}
	return significant(v)
}

// interval writes [low, high]; an unknown end of an interval whose other end
// is known is unbounded.
func interval(v [2]*float64) string {
	if v[0] == nil && v[1] == nil {
		return unknown
	}
	if v[1] == nil {
		return significant(v[0]) + " or more"
	}
	return significant(v[0]) + " to " + significant(v[1])
}

func count(n int) string { return thousands(strconv.Itoa(n)) }

func thousands(s string) string {
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	whole, frac, _ := strings.Cut(s, ".")
	if len(whole) > 4 {
		var b strings.Builder
		for i, c := range whole {
			if i > 0 && (len(whole)-i)%3 == 0 {
				b.WriteByte(',')
			}
			b.WriteRune(c)
		}
		whole = b.String()
	}
	if frac != "" {
		frac = "." + frac
	}
	return sign + whole + frac
}
