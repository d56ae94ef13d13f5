package files

import "bytes"

// Names of months and halves of the day as Oracle prints them under
// NLS_DATE_LANGUAGE American, German, Korean, Simplified Chinese and Japanese.
// Spools written under a national character set hold the names in its bytes.

// monthNames gives the names of a month, 1 to 12, the longer before the shorter.
func monthNames(month int) []string {
	switch month {
	case 1:
		return []string{"january", "januar", "jan"}
	case 2:
		return []string{"february", "februar", "feb"}
	case 3:
		return []string{"march", "märz", "mar", "mär", "mrz", "m\xc4r", "m\xe4r"} // the last two in Latin-1
	case 4:
		return []string{"april", "apr"}
	case 5:
		return []string{"may", "mai"}
	case 6:
		return []string{"june", "juni", "jun"}
	case 7:
		return []string{"july", "juli", "jul"}
	case 8:
		return []string{"august", "aug"}
	case 9:
		return []string{"september", "sept", "sep"}
	case 10:
		return []string{"october", "oktober", "oct", "okt"}
	case 11:
		return []string{"november", "nov"}
	case 12:
		return []string{"december", "dezember", "dec", "dez"}
	default:
		return nil
	}
}

// monthName reads a month's name, padded or not; 0 where there is none.
func (p *timeParser) monthName() int {
	begin := p.at
	if month, count := p.digits(2); count > 0 {
		// 9월 and 9月, also in KO16MSWIN949 and ZHS16GBK.
		for _, mark := range []string{"월", "月", "\xbf\xf9", "\xd4\xc2"} {
			if p.prefix(mark) {
				return month
			}
		}
		p.at = begin
		return 0
	}
	for month := 1; month <= 12; month++ {
		for _, name := range monthNames(month) {
			if p.wholeWord(name) {
				return month
			}
		}
	}
	return 0
}

// wholeWord reads a name that no further letter follows.
func (p *timeParser) wholeWord(name string) bool {
	end := p.at + len(name)
	if end > len(p.text) || !bytes.EqualFold(p.text[p.at:end], []byte(name)) {
		return false
	}
	if end < len(p.text) {
		if c := p.text[end]; c >= 0x80 || c|0x20 >= 'a' && c|0x20 <= 'z' {
			return false
		}
	}
	p.at = end
	return true
}

// halfOfDay reads AM or PM in one of the languages.
func (p *timeParser) halfOfDay() dayHalf {
	if p.at == len(p.text) {
		return wholeDay
	}
	if c := p.text[p.at]; c >= '0' && c <= '9' || c == '+' {
		return wholeDay
	}
	// The last names of each list are in KO16MSWIN949 and ZHS16GBK.
	for _, name := range []string{"a.m.", "am", "오전", "上午", "午前", "\xbf\xc0\xc0\xfc", "\xc9\xcf\xce\xe7"} {
		if p.halfName(name) {
			return beforeNoon
		}
	}
	for _, name := range []string{"p.m.", "pm", "오후", "下午", "午後", "\xbf\xc0\xc8\xc4", "\xcf\xc2\xce\xe7"} {
		if p.halfName(name) {
			return afterNoon
		}
	}
	return wholeDay
}

// halfName reads AM but not the beginning of AMERICA/LIMA.
func (p *timeParser) halfName(name string) bool {
	if name[0] == 'a' || name[0] == 'p' {
		return p.wholeWord(name)
	}
	return p.prefix(name)
}
