package main

import (
	"fmt"
	"io"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func versionCommand(stdout io.Writer) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "print the version", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			fmt.Fprintln(stdout, "corewait "+version())
			return nil
		},
	}
}

// version is what the Go toolchain stamped into the binary: the module's
// version, or the commit that it was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version + " " + info.GoVersion
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value + " " + info.GoVersion
		}
	}
	return "unversioned " + info.GoVersion
}
