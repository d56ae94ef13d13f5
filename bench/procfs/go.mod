module github.com/corewait/corewait/bench/procfs

go 1.26.0

require (
	github.com/corewait/corewait v0.0.0
	github.com/prometheus/procfs v0.23.0
)

require golang.org/x/sys v0.50.0 // indirect

replace github.com/corewait/corewait => ../..
