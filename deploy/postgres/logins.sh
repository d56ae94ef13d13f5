#!/bin/sh
# Makes Grafana's login in a new database: it may read samples, through
# corewait_reader, and nothing else. Passwords come from files; psql gets them
# as variables that it quotes itself, so that no password is in a command line.
set -eu
: "${POSTGRES_DB:?}" "${POSTGRES_USER:?}"
psql --set ON_ERROR_STOP=1 --no-psqlrc --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" <<'SQL'
\set grafana_password `cat "${SECRETS:-/run/secrets}/grafana_password"`
CREATE ROLE corewait_reader NOLOGIN;
CREATE ROLE corewait_grafana LOGIN CONNECTION LIMIT 20 PASSWORD :'grafana_password';
GRANT corewait_reader TO corewait_grafana;
ALTER ROLE corewait_grafana SET default_transaction_read_only = on;
ALTER ROLE corewait_grafana SET statement_timeout = '30s';
SQL
