package config

import (
	"slices"
	"testing"
	"time"
)

func TestKeysThatNeedARestartAreNamed(t *testing.T) {
	t.Parallel()
	was, is := Defaults(), Defaults()
	is.Jobs.Review, is.Log.Level, is.Review.Zone, is.Retention.EvidenceCap = "*/2 * * * *", "debug", "Asia/Seoul", 1*GiB
	if keys := was.NeedsRestart(is); keys != nil {
		t.Errorf("%v need a restart, want none of what is taken over", keys)
	}
	is.Agents.TLS.CertFile, is.People.Hosts, is.Retention.Raw = "other.pem", []string{"corewait.example"}, 7*24*time.Hour
	if keys, want := was.NeedsRestart(is), []string{"agents", "people", "retention.raw"}; !slices.Equal(keys, want) {
		t.Errorf("%v need a restart, want %v", keys, want)
	}
}
