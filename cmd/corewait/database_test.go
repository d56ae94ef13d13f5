package main

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/corewait/corewait/internal/testdb"
)

// The scripts in testdata/database have an empty database each.
func TestCommandsWithADatabase(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata/database",
		Setup: func(e *testscript.Env) error {
			e.Setenv(databaseEnv, testdb.URL(t))
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"status": checkStatus,
			"sql":    runSQL,
		},
	})
}

// runSQL runs one statement in the script's database: sql INSERT INTO ...
func runSQL(ts *testscript.TestScript, _ bool, args []string) {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, ts.Getenv(databaseEnv))
	ts.Check(err)
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, strings.Join(args, " "))
	ts.Check(err)
}
