// Package files owns how files of DBAs get in: it walks folders, unpacks
// archives, tells each file's kind from its content, decides which node a file
// belongs to and which zone its times are in, and sends its records to an
// ingest.Sink.
//
// Reading goes in two passes. Scan looks at the beginning of every file and
// gives a Set: sources with kind, host and zone, the nodes they make up, and
// what is of no known kind. Set.ResolveZones decides the zones of one node, and
// Set.Read then reads that node's sources in the order of their times.
//
// All input is hostile: names in archives are only names and are never written
// anywhere, and sizes, nesting and memory are bounded by Limits and by the
// constants beside the code that they bound.
//
// The package knows nothing of what the records mean: rates, joins and gaps
// are the business of correlate/series.
package files
