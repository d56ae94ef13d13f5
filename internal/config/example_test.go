package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// examplePath is the file at the repository's root.
var examplePath = filepath.Join("..", "..", "corewait.example.yaml")

// keysOf lists the keys of a struct with their paths.
func keysOf(prefix string, v reflect.Value) []string {
	var keys []string
	for i := range v.NumField() {
		name := v.Type().Field(i).Tag.Get("yaml")
		if name == "" {
			continue
		}
		key := strings.TrimPrefix(prefix+"."+name, ".")
		keys = append(keys, key)
		if v.Field(i).Kind() == reflect.Struct {
			keys = append(keys, keysOf(key, v.Field(i))...)
		}
	}
	return keys
}

func TestExampleHasEveryKeyWithItsDefault(t *testing.T) {
	t.Parallel()
	example, err := Load(examplePath)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Defaults(), example, cmpopts.IgnoreUnexported(Config{}), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("defaults -, example +:\n%s", diff)
	}
	keys := keysOf("", reflect.ValueOf(*Defaults()))
	if len(keys) < 40 {
		t.Fatalf("%d keys: the test sees too few", len(keys))
	}
	for _, key := range keys {
		if example.lines[key] == 0 {
			t.Errorf("%s is not in the example", key)
		}
		delete(example.lines, key)
	}
	for key := range example.lines { // a key twice is a mistake already
		t.Errorf("%s of the example is none of the struct", key)
	}
}

func TestExampleExplainsEveryKey(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(examplePath)
	if err != nil {
		t.Fatal(err)
	}
	example, err := Parse(examplePath, text)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	for key, line := range example.lines {
		if above := strings.TrimSpace(lines[line-2]); !strings.HasPrefix(above, "# ") {
			t.Errorf("line %d: %s has no explanation above it", line, key)
		}
	}
}

// A default that a file sets anew must be as good as the default itself.
func TestAnEmptyFileIsTheDefaults(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "\n", "# nothing\n", "---\n", "agents:\n", "agents: {}\n", "agents:\n  listen:\n"} {
		got, err := Parse("c.yaml", []byte(text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if diff := cmp.Diff(Defaults(), got, cmpopts.IgnoreUnexported(Config{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%q: want -, got +:\n%s", text, diff)
		}
	}
}
