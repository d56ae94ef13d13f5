package store

// FillPush gives benchmarks on a database the push that those without one use.
var FillPush = fillPush
