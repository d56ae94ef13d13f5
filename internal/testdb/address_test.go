package testdb

import "testing"

func TestAddressesGetAnotherDatabaseInEitherForm(t *testing.T) {
	t.Parallel()
	// The forms are those of the PostgreSQL manual, section "Connection Strings".
	for address, want := range map[string]string{
		"postgres://maker@db1:5433/old?sslmode=require":  "postgres://maker@db1:5433/new?sslmode=require",
		"postgresql://maker:a%2Fb@db1":                   "postgresql://maker:a%2Fb@db1/new",
		"postgres://corewait@/old?host=%2Frun%2Fsockets": "postgres://corewait@/new?host=%2Frun%2Fsockets",
		"host=/run/sockets user=maker dbname=old":        "host=/run/sockets user=maker dbname=old dbname=new",
	} {
		if got := onDatabase(address, "new"); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}
