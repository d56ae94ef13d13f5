package report

import "github.com/corewait/corewait/domain"

// htmlWord is a word of the field and what it means on the page.
type htmlWord struct{ Word, Meaning string }

// words explains what the page takes for granted; docs/METHOD.md says more.
func words(f *domain.Finding) []htmlWord {
	who := watched(f)
	return []htmlWord{
		{"stall", "the waits that one delay of " + who + " caused: sixty sessions behind one delay are one stall. It is the unit of evidence."},
		{"heavy CPU", "a CPU that interrupts keep busy, by rate or by time (the bounds are in Parameters). Interrupts of storage do not count: they follow " + who + "'s own I/O."},
		{"expected", "the stalls that would fall there if they did not care where " + who + " is: its share of time there, at the same load and time of day."},
		{"ratio", "stalls per second on heavy CPUs over stalls per second elsewhere; 1 is no difference."},
		{"95 % interval", "the range that holds the true value in 95 of 100 such records; without an upper end where too few stalls lie elsewhere."},
		{"p", "how often chance alone would show as much. Small is strong: 0.0005 is once in 2,000."},
		{"placebo", "the same test with the stalls shifted in time. It must find nothing, so its p must not be small."},
		{"stay", "an unbroken stretch of " + who + " on one CPU."},
		{"dose", "what interrupts take of a CPU from whoever runs there."},
		{"grade", "A: time was seen to be taken from " + who + " during the stalls. B: stalls and heavy CPUs coincide in time; what " + who + " did meanwhile was not recorded."},
		{"not observable", "the files cannot show this cause: it is neither cleared nor accused."},
	}
}
