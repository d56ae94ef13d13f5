package refcase

import (
	"fmt"

	"github.com/corewait/corewait/ingest"
)

// Generate sends every record of the scenario, kind after kind, each in time
// order, and tells what really happened.
func (s Scenario) Generate(to ingest.Sink) (Truth, error) {
	if err := s.validate(); err != nil {
		return Truth{}, err
	}
	w := newWorld(&s)
	stallTicks := 0
	for _, part := range []struct {
		name string
		send func(ingest.Sink) error
	}{
		{"topology", w.sendTopology},
		{"instances", w.sendInstances},
		{"interrupts", w.sendInterrupts},
		{"placements", w.sendPlacements},
		{"CPU use", w.sendCPUs},
		{"system state", w.sendSystem},
		{"disks", w.sendDisks},
		{"waits", func(to ingest.Sink) (err error) { stallTicks, err = w.sendWaits(to); return err }},
		{"counters", w.sendSysStat},
		{"histograms", w.sendHistograms},
	} {
		if err := part.send(to); err != nil {
			return Truth{}, fmt.Errorf("send %s: %w", part.name, err)
		}
	}
	return w.truth(stallTicks), nil
}
