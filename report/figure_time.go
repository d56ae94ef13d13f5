package report

import (
	"time"

	"github.com/corewait/corewait/correlate/series"
	"github.com/corewait/corewait/domain"
)

// zoneOf gives the zone in which a finding's times are shown, and its name: the
// host's where it is known, else the database's, else UTC.
func zoneOf(f *domain.Finding) (*time.Location, string) {
	for _, z := range []*string{f.Timezone.Host, f.Timezone.DB} {
		if z == nil || *z == "" || *z == "Local" { // the zone of this machine says nothing
			continue
		}
		if loc, err := time.LoadLocation(*z); err == nil {
			return loc, *z
		}
		if p, err := time.Parse("-07:00", *z); err == nil {
			_, offset := p.Zone()
			return time.FixedZone(*z, offset), *z
		}
	}
	return time.UTC, "UTC"
}

// timeAxis maps the window onto a figure's width.
type timeAxis struct {
	window series.Span
	zone   *time.Location
	x0, x1 float64
}

// x gives where an instant is drawn; instants outside the window go to its ends.
func (a timeAxis) x(at series.Micros) float64 {
	at = min(max(at, a.window.From), a.window.To)
	return a.x0 + (a.x1-a.x0)*float64(at-a.window.From)/float64(a.window.To-a.window.From)
}

// tickSteps are the distances between ticks that read well.
var tickSteps = []time.Duration{
	time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute,
	15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour,
}

// mostTicks is how many ticks fit side by side with their labels.
const mostTicks = 10

// step gives the distance between ticks and how their times are written.
func (a timeAxis) step() (time.Duration, string) {
	length := time.Duration(a.window.To-a.window.From) * time.Microsecond
	step := tickSteps[len(tickSteps)-1]
	for _, s := range tickSteps {
		if length/s <= mostTicks {
			step = s
			break
		}
	}
	if days := int(length/step) / mostTicks; days > 0 {
		step = time.Duration(days+1) * 24 * time.Hour
	}
	switch {
	case step < time.Minute:
		return step, "15:04:05"
	case length > 24*time.Hour:
		return step, "2 Jan 15:04"
	}
	return step, "15:04"
}

// smallGlyph is the width of a character of small text, at the most.
const smallGlyph = 7.5

// draw writes the axis below y: ticks at round local times.
func (a timeAxis) draw(g *svg, y float64) {
	step, layout := a.step()
	from := series.ToTime(a.window.From).In(a.zone)
	day := time.Date(from.Year(), from.Month(), from.Day(), 0, 0, 0, 0, a.zone)
	first := day.Add((from.Sub(day) + step - 1).Truncate(step))
	g.line(a.x0, y, a.x1, y, "axis")
	for t := first; !t.After(series.ToTime(a.window.To)); t = t.Add(step) {
		x := a.x(series.FromTime(t))
		g.line(x, y, x, y+5, "axis")
		label := t.In(a.zone).Format(layout)
		if half := smallGlyph * float64(len(label)) / 2; x+half > figureWidth { // would be cut at the figure's edge
			g.text(figureWidth, y+18, "small end", label)
			continue
		}
		g.text(x, y+18, "small middle", label)
	}
}
