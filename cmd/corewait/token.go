package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/corewait/corewait/ingest/receive"
	"github.com/corewait/corewait/report"
	"github.com/corewait/corewait/store"
)

func tokenCommand(stdout io.Writer) *cobra.Command {
	var d database
	c := &cobra.Command{
		Use:   "token",
		Short: "make, list and revoke the credentials of agents",
		Args:  noArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	d.register(c)
	out := ""
	create := &cobra.Command{
		Use:   "create NODE",
		Short: "make a token with which an agent pushes as that node",
		Long: `Makes a token of a node and prints it, once: the database keeps its SHA-256
only. The node is made where it is new; give the name that its files call it by
(hostname -s). A node may have several tokens, as while one is replaced.`,
		Example: `  corewait token create db1 --out /etc/corewait/db1.token`,
		Args:    oneArg("the node"),
		RunE: func(c *cobra.Command, args []string) error {
			return createToken(c.Context(), &d, args[0], out, stdout)
		},
	}
	create.Flags().StringVar(&out, "out", "", "write the token to the new `FILE`, which only its owner can read, instead of printing it")
	list := &cobra.Command{
		Use: "list", Short: "list all tokens, without their secrets", Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return listTokens(c.Context(), &d, stdout) },
	}
	revoke := &cobra.Command{
		Use: "revoke ID", Short: "end a token for good; agents that use it are refused within half a minute", Args: oneArg("the token's id"),
		RunE: func(c *cobra.Command, args []string) error {
			return withStore(c.Context(), &d, func(st *store.Store) error {
				err := st.RevokeToken(c.Context(), args[0])
				if errors.Is(err, store.ErrNotFound) {
					return fmt.Errorf("%w: token %q: there is none: corewait token list shows all", errFlags, args[0])
				}
				if err == nil {
					fmt.Fprintf(stdout, "%s is revoked\n", report.Clean(args[0]))
				}
				return err
			})
		},
	}
	c.AddCommand(create, list, revoke)
	return c
}

// oneArg wants exactly one argument, which is called what.
func oneArg(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == 1 && args[0] != "" {
			return nil
		}
		return fmt.Errorf("%w: name %s, and nothing else (see %s --help)", errFlags, what, c.CommandPath())
	}
}

func withStore(ctx context.Context, d *database, do func(*store.Store) error) error {
	st, err := d.open(ctx)
	if err != nil {
		return err
	}
	defer st.Close()
	return do(st)
}

// hostName is what a node may be called: its name is part of addresses and of files'
// names (RFC 1123, with the underscore that some sites use).
var hostName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?$`)

func createToken(ctx context.Context, d *database, node, file string, stdout io.Writer) error {
	if !hostName.MatchString(node) {
		return fmt.Errorf("%w: %q is no host name: give what hostname -s prints on the node", errFlags, node)
	}
	out := stdout
	if file != "" {
		f, err := os.OpenFile(filepath.Clean(file), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return fmt.Errorf("%w: --out: %w", errFlags, err)
		}
		defer f.Close()
		out = f
	}
	return withStore(ctx, d, func(st *store.Store) error {
		id, err := st.Node(ctx, node)
		if err != nil {
			return err
		}
		token := receive.NewToken()
		if err := st.CreateToken(ctx, token.ID, id, token.Hash); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(out, token.Text); err != nil {
			return fmt.Errorf("write the token: %w: revoke it with corewait token revoke %s", err, token.ID)
		}
		if file != "" {
			fmt.Fprintf(stdout, "%s: token %s of node %s\n", report.Clean(file), token.ID, report.Clean(node))
		}
		return nil
	})
}

func listTokens(ctx context.Context, d *database, stdout io.Writer) error {
	return withStore(ctx, d, func(st *store.Store) error {
		names, err := st.NodeNames(ctx)
		if err != nil {
			return err
		}
		w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "TOKEN\tNODE\tCREATED\tLAST USED\tSTATE")
		tokens, err := store.All(func(p store.Page) ([]store.Token, store.Cursor, error) { return st.Tokens(ctx, p) })
		if err != nil {
			return err
		}
		for _, t := range tokens {
			state := "valid"
			if !t.RevokedAt.IsZero() {
				state = "revoked " + minute(t.RevokedAt)
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", report.Clean(t.ID), report.Clean(names[t.Node]), minute(t.CreatedAt), minute(t.LastUsedAt), state)
		}
		return w.Flush()
	})
}

// minute writes an instant in UTC, "never" where there is none.
func minute(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.UTC().Format("2006-01-02T15:04Z")
}
