// Package analysis wires the short cut of `corewait analyze`: files, series,
// engine, finding; and its way over the store: files into a collection, and a
// collection to the same finding. It owns the choice of node, instance, zone and
// window, and the errors that tell a user what to do. It knows nothing of flags
// or output.
package analysis
