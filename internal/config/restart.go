package config

import "reflect"

// NeedsRestart names the keys that differ in another configuration and that a
// running service does not take over: all but schedules, the log's level and how
// stored data is judged. Of a certificate the contents are read again, not the name.
func (c *Config) NeedsRestart(other *Config) []string {
	var keys []string
	for _, section := range []struct {
		name     string
		was, new any
	}{
		{"database", c.Database, other.Database},
		{"embedded", c.Embedded, other.Embedded},
		{"agents", c.Agents, other.Agents},
		{"people", c.People, other.People},
		{"log.format", c.Log.Format, other.Log.Format},
	} {
		if !reflect.DeepEqual(section.was, section.new) {
			keys = append(keys, section.name)
		}
	}
	if c.Retention.Raw != other.Retention.Raw { // of what is taken; what is dropped follows
		keys = append(keys, "retention.raw")
	}
	return keys
}
