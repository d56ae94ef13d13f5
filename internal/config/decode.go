package config

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// longestFile bounds a configuration, in bytes.
const longestFile = 64 << 10

// Load reads a configuration. The error is *os.PathError where the file cannot be
// read, else Mistakes. Files that it names are not looked at: see Check.
func Load(path string) (*Config, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > longestFile {
		return nil, Mistakes{{File: path, Why: fmt.Sprintf("is no configuration: must be a regular file of at most %d bytes", longestFile)}}
	}
	text, err := os.ReadFile(path) //nolint:gosec // the operator's own file
	if err != nil {
		return nil, err
	}
	return Parse(path, text)
}

// Parse reads the text of a configuration; path stands for it in mistakes, and
// its folder is what relative paths start from.
func Parse(path string, text []byte) (*Config, error) {
	d := decoder{config: Defaults()}
	c := d.config
	c.file, c.lines = path, map[string]int{}
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, Mistakes{syntaxMistake(path, err)}
	}
	for i, document := range slices.DeleteFunc(file.Docs, func(d *ast.DocumentNode) bool { return d.Body == nil }) {
		if i > 0 {
			d.wrongf("", document.Body, "a second document begins: a configuration is one")
			break
		}
		d.decode("", document.Body, reflect.ValueOf(c).Elem())
	}
	if len(d.mistakes) == 0 { // rules need values
		d.mistakes = c.validate()
	}
	if err := d.mistakes.orNil(); err != nil {
		return nil, err
	}
	c.resolve(filepath.Dir(path))
	return c, nil
}

// syntaxMistake makes one line of the parser's error, which shows the source.
func syntaxMistake(path string, err error) *Mistake {
	m := &Mistake{File: path, Why: "is no YAML: " + strings.Join(strings.Fields(err.Error()), " ")}
	if of := yaml.Error(nil); errors.As(err, &of) {
		m.Why = "is no YAML: " + of.GetMessage()
		if token := of.GetToken(); token != nil && token.Position != nil {
			m.Line = token.Position.Line
			if strings.HasPrefix(token.Value, "*") {
				m.Why += ": put a schedule in quotes"
			}
		}
	}
	return m
}

func lineOf(node ast.Node) int {
	if node == nil {
		return 0
	}
	if token := node.GetToken(); token != nil && token.Position != nil {
		return token.Position.Line
	}
	return 0
}

// decoder puts the nodes of a document into a Config and gathers what does not
// fit.
type decoder struct {
	config   *Config
	mistakes Mistakes
}

func (d *decoder) wrongf(key string, node ast.Node, format string, args ...any) {
	d.mistakes = append(d.mistakes, &Mistake{File: d.config.file, Line: lineOf(node), Key: key, Why: fmt.Sprintf(format, args...)})
}

// decode puts the value of a key into a field. A value that is empty leaves the
// default.
func (d *decoder) decode(key string, node ast.Node, to reflect.Value) {
	if _, empty := node.(*ast.NullNode); empty {
		return
	}
	switch to.Interface().(type) {
	case time.Duration:
		put(d, key, node, to, parseDuration)
	case Size:
		put(d, key, node, to, parseSize)
	default:
		switch to.Kind() {
		case reflect.Struct:
			d.decodeStruct(key, node, to)
		case reflect.Slice:
			d.decodeList(key, node, to)
		case reflect.String:
			put(d, key, node, to, func(text string) (string, error) { return text, nil })
		case reflect.Bool:
			put(d, key, node, to, parseBool)
		case reflect.Int:
			put(d, key, node, to, parseInt)
		case reflect.Float64:
			put(d, key, node, to, parseFloat)
		}
	}
}

// fieldsOf gives the fields of a struct by their keys.
func fieldsOf(to reflect.Value) map[string]reflect.Value {
	fields := map[string]reflect.Value{}
	for i := range to.NumField() {
		if name := to.Type().Field(i).Tag.Get("yaml"); name != "" {
			fields[name] = to.Field(i)
		}
	}
	return fields
}

func (d *decoder) decodeStruct(key string, node ast.Node, to reflect.Value) {
	mapping, ok := node.(ast.MapNode)
	if !ok {
		d.wrongf(key, node, "must hold keys, such as %s", anyKey(to))
		return
	}
	fields := fieldsOf(to)
	for pairs := mapping.MapRange(); pairs.Next(); {
		name := pairs.Key().String()
		if text, ok := pairs.Key().(*ast.StringNode); ok {
			name = text.Value
		}
		full := strings.TrimPrefix(key+"."+name, ".")
		field, known := fields[name]
		if !known {
			d.wrongf(full, pairs.Key(), "is no key of a configuration%s", didYouMean(name, fields))
			continue
		}
		if before, twice := d.config.lines[full]; twice {
			d.wrongf(full, pairs.Key(), "is there twice: line %d has it already", before)
			continue
		}
		d.config.lines[full] = lineOf(pairs.Key())
		d.decode(full, pairs.Value(), field)
	}
}

func anyKey(to reflect.Value) string { return to.Type().Field(0).Tag.Get("yaml") }

// didYouMean names the key that differs least, if it differs little.
func didYouMean(name string, fields map[string]reflect.Value) string {
	best, least := "", 3
	for known := range fields {
		if n := distance(name, known); n < least || n == least && known < best {
			best, least = known, n
		}
	}
	if best == "" {
		return "; corewait.example.yaml has them all"
	}
	return fmt.Sprintf("; %s is", best)
}

// distance is Levenshtein's.
func distance(a, b string) int {
	if len(a) > 64 {
		return len(a)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

func (d *decoder) decodeList(key string, node ast.Node, to reflect.Value) {
	sequence, ok := node.(*ast.SequenceNode)
	if !ok {
		d.wrongf(key, node, "must be a list: [one, another]")
		return
	}
	list := reflect.MakeSlice(to.Type(), len(sequence.Values), len(sequence.Values))
	for i, value := range sequence.Values {
		d.decode(fmt.Sprintf("%s[%d]", key, i), value, list.Index(i))
	}
	to.Set(list)
}

// put reads a plain value as what its field takes.
func put[T any](d *decoder, key string, node ast.Node, to reflect.Value, parse func(string) (T, error)) {
	var text string
	switch n := node.(type) {
	case *ast.StringNode:
		text = n.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		text = n.GetToken().Value
	default:
		d.wrongf(key, node, "must be one plain value")
		return
	}
	value, err := parse(text)
	if err != nil {
		d.wrongf(key, node, "%q: %v", text, err)
		return
	}
	to.Set(reflect.ValueOf(value).Convert(to.Type()))
}

func parseBool(text string) (bool, error) {
	if text != "true" && text != "false" {
		return false, errors.New("must be true or false")
	}
	return text == "true", nil
}

func parseInt(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, errors.New("must be a whole number")
	}
	return n, nil
}

func parseFloat(text string) (float64, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, errors.New("must be a number")
	}
	return f, nil
}

// resolve makes relative paths start from the file's folder.
func (c *Config) resolve(folder string) {
	for _, path := range []*string{
		&c.Database.URLFile, &c.Database.PasswordFile, &c.Embedded.Dir,
		&c.Agents.TLS.CertFile, &c.Agents.TLS.KeyFile, &c.Agents.TLS.ClientCAFile,
		&c.People.TLS.CertFile, &c.People.TLS.KeyFile, &c.People.TokenFile,
	} {
		if *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(cmp.Or(folder, "."), *path)
		}
	}
}
