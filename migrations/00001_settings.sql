-- What the other migrations stand on: which kind of database this is, which
-- tables are hot, and how a table becomes hot. A column is defined once, in a
-- plain CREATE TABLE; partitions, hypertables and the kept_ twins derive from it.
--
-- Rules of every migration, held by tests: node_id is NOT NULL and the first
-- column of every primary and unique key that has it, so that a table can be
-- distributed by it; constraints are named pk_, uq_, fk_ or ck_; foreign keys are
-- added by ALTER TABLE; hot tables have no foreign key, default or trigger.

-- +goose Up

-- mode: plain or timescaledb. Decided once, when the first migration runs, and
-- never changed: a hypertable does not become partitions by itself.
CREATE TABLE corewait_settings (
    name  text NOT NULL,
    value text NOT NULL,
    CONSTRAINT pk_corewait_settings PRIMARY KEY (name)
);

-- corewait.timescale is set by the program for the session that migrates.
INSERT INTO corewait_settings (name, value)
VALUES ('mode', CASE current_setting('corewait.timescale', true) WHEN 'on' THEN 'timescaledb' ELSE 'plain' END);

-- The tables that partitions are created for and dropped from. Retention never
-- looks anywhere else: other people's tables in the same database are safe.
-- slice: what one partition or chunk holds; none: an ordinary table whose rows
-- are deleted instead. Days and months are UTC's.
CREATE TABLE corewait_hot_tables (
    table_name text NOT NULL,
    slice      text NOT NULL,
    CONSTRAINT pk_corewait_hot_tables PRIMARY KEY (table_name),
    CONSTRAINT ck_corewait_hot_tables_slice CHECK (slice IN ('day', 'month', 'none'))
);

-- +goose StatementBegin
CREATE FUNCTION corewait_timescale() RETURNS boolean
LANGUAGE sql STABLE
AS $$ SELECT EXISTS (SELECT FROM public.corewait_settings WHERE name = 'mode' AND value = 'timescaledb') $$;
-- +goose StatementEnd

-- corewait_timescale_schema gives the schema that TimescaleDB's functions are
-- in, since functions with a pinned search_path must name it.
-- +goose StatementBegin
CREATE FUNCTION corewait_timescale_schema() RETURNS name
LANGUAGE sql STABLE
AS $$
    SELECT n.nspname FROM pg_catalog.pg_extension e JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace
    WHERE e.extname = 'timescaledb'
$$;
-- +goose StatementEnd

-- corewait_make_kept makes the twin of a hot table that holds imports and the
-- evidence of incidents: the same columns, with collection_id after node_id in
-- the row and in the key; never partitioned and outside retention. The twin has no
-- foreign key either: it takes bulk COPYs.
-- +goose StatementBegin
CREATE FUNCTION corewait_make_kept(hot text) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    columns text;
    keys    text;
BEGIN
    SELECT string_agg(format('%I %s%s%s', a.attname, format_type(a.atttypid, a.atttypmod),
               CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END,
               CASE WHEN a.attname = 'node_id' THEN ', collection_id int4 NOT NULL' ELSE '' END), ', ' ORDER BY a.attnum)
    INTO STRICT columns
    FROM pg_attribute a
    WHERE a.attrelid = format('public.%I', hot)::regclass AND a.attnum > 0 AND NOT a.attisdropped;

    SELECT string_agg(quote_ident(a.attname) || CASE WHEN a.attname = 'node_id' THEN ', collection_id' ELSE '' END, ', ' ORDER BY k.position)
    INTO STRICT keys
    FROM pg_constraint c
    CROSS JOIN LATERAL unnest(c.conkey) WITH ORDINALITY AS k (attnum, position)
    JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.attnum
    WHERE c.conrelid = format('public.%I', hot)::regclass AND c.contype = 'p';

    EXECUTE format('CREATE TABLE public.%I (%s, CONSTRAINT %I PRIMARY KEY (%s))', 'kept_' || hot, columns, 'pk_kept_' || hot, keys);
END
$$;
-- +goose StatementEnd

-- corewait_make_hot turns a table just created, and still empty, into a
-- hypertable, or into a table partitioned by range of at. segment_by are the
-- columns that TimescaleDB compresses apart from one another: a query names
-- them. What remains of the key orders the rows within.
-- +goose StatementBegin
CREATE FUNCTION corewait_make_hot(hot text, slice text, segment_by text[]) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    key_name   name;
    key        text;
    order_by   text;
    timescale  name := corewait_timescale_schema();
BEGIN
    INSERT INTO public.corewait_hot_tables (table_name, slice) VALUES (hot, slice);
    IF slice = 'none' THEN
        RETURN;
    END IF;

    IF corewait_timescale() THEN
        EXECUTE format('SELECT %I.create_hypertable(%L::regclass, %L, chunk_time_interval => %L::interval, create_default_indexes => false)',
            timescale, format('public.%I', hot), 'at', CASE slice WHEN 'day' THEN '1 day' ELSE '30 days' END);
        -- The Apache edition has hypertables and no compression.
        IF current_setting('timescaledb.license', true) = 'timescale' THEN
            SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attname <> 'at', k.position)
            INTO STRICT order_by
            FROM pg_constraint c
            CROSS JOIN LATERAL unnest(c.conkey) WITH ORDINALITY AS k (attnum, position)
            JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.attnum
            WHERE c.conrelid = format('public.%I', hot)::regclass AND c.contype = 'p' AND a.attname <> ALL (segment_by);
            EXECUTE format('ALTER TABLE public.%I SET (timescaledb.compress, timescaledb.compress_segmentby = %L, timescaledb.compress_orderby = %L)',
                hot, array_to_string(segment_by, ', '), order_by);
        END IF;
        RETURN;
    END IF;

    SELECT conname, pg_get_constraintdef(oid) INTO STRICT key_name, key
    FROM pg_constraint WHERE conrelid = format('public.%I', hot)::regclass AND contype = 'p';
    EXECUTE format('ALTER TABLE public.%I RENAME TO %I', hot, hot || '_shape');
    EXECUTE format('CREATE TABLE public.%I (LIKE public.%I INCLUDING ALL EXCLUDING INDEXES) PARTITION BY RANGE (at)', hot, hot || '_shape');
    EXECUTE format('DROP TABLE public.%I', hot || '_shape');
    EXECUTE format('ALTER TABLE public.%I ADD CONSTRAINT %I %s', hot, key_name, key);
END
$$;
-- +goose StatementEnd

-- +goose Down
DROP FUNCTION corewait_make_hot(text, text, text[]);
DROP FUNCTION corewait_make_kept(text);
DROP FUNCTION corewait_timescale_schema();
DROP FUNCTION corewait_timescale();
DROP TABLE corewait_hot_tables;
DROP TABLE corewait_settings;
