// Package config owns the service's configuration: one strict YAML file, its
// defaults and its rules. Every mistake in it has its line. It must not know what
// the values are for: it opens no listener and no database. corewait.example.yaml
// explains every key.
package config
