package refcase

import (
	"strconv"

	"github.com/corewait/corewait/domain"
)

// irqWidth is the width of the interrupt number: four where the kernel has
// room for over a thousand (kernel/irq/proc.c, arch_show_interrupts).
const irqWidth = 4

// countWidth is that of a count, %10u, which a blank follows.
const countWidth = 10

// Interrupts appends a time line and the text of /proc/interrupts.
func (w *FileWriter) Interrupts(s *domain.InterruptSnapshot) error {
	f, err := w.open(fileInterrupts, "")
	if err != nil {
		return err
	}
	b := s.At.In(w.zone).AppendFormat(w.block[:0], "2006-01-02T15:04:05.000-07:00")
	b = append(b, '\n')
	body := len(b)
	b = appendPadded(b, "", irqWidth+8)
	for _, cpu := range s.CPUs {
		b = append(b, "CPU"...)
		from := len(b)
		b = strconv.AppendInt(b, int64(cpu), 10)
		for len(b) < from+8 {
			b = append(b, ' ')
		}
	}
	b = append(b, '\n')
	for i := range s.Lines {
		b = appendLine(b, &s.Lines[i])
	}
	w.block = b
	if share, ok := w.cut[w.blocks]; ok {
		b = append(b[:body+int(share*float64(len(b)-body))], '\n')
	}
	w.blocks++
	return f.write(b)
}

// appendLine adds one line as the kernel prints it: the kernel's own lines
// have two more blanks before their text than devices have.
func appendLine(b []byte, l *domain.InterruptLine) []byte {
	b = appendPadded(b, l.ID, irqWidth)
	b = append(b, ':', ' ')
	if l.Counts == nil {
		b = appendCount(b, l.Single)
		return append(b, '\n')
	}
	for _, n := range l.Counts {
		b = appendCount(b, n)
		b = append(b, ' ')
	}
	b = append(b, ' ')
	if l.Class == domain.ClassKernel {
		b = append(b, ' ')
	}
	b = append(b, l.Description...)
	return append(b, '\n')
}

// appendPadded adds text right-aligned.
func appendPadded(b []byte, text string, width int) []byte {
	for n := len(text); n < width; n++ {
		b = append(b, ' ')
	}
	return append(b, text...)
}

// appendCount adds a count right-aligned. Most are 0: they are copied.
func appendCount(b []byte, n uint64) []byte {
	if n == 0 {
		return append(b, "         0"...)
	}
	var digits [20]byte
	text := strconv.AppendUint(digits[:0], n, 10)
	for i := len(text); i < countWidth; i++ {
		b = append(b, ' ')
	}
	return append(b, text...)
}
