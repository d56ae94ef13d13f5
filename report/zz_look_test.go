package report

import (
	"os"
	"testing"
)

func TestLook(t *testing.T) {
	f, _ := os.Create("/tmp/day.html")
	s := day()
	if err := HTML(f, []Illustrated{{analysed(t, s), s}}); err != nil {
		t.Fatal(err)
	}
	st, _ := f.Stat()
	t.Log(st.Size())
	f.Close()
}
