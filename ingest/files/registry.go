package files

// knownFormats gives every format that is read, in the order in which they are
// asked: the first whose probe says yes has the file. Probes are written so
// that one at most does.
func knownFormats() []format {
	var all []format
	all = append(all, procFormats()...)
	all = append(all, sysstatFormats()...)
	all = append(all, oracleFormats()...)
	return all
}

// recognise tells the format of a file that begins with head; nil where none
// is known.
func recognise(formats []format, head []byte) (*format, probed) {
	for i := range formats {
		if p, ok := formats[i].probe(head); ok {
			return &formats[i], p
		}
	}
	return nil, probed{}
}
