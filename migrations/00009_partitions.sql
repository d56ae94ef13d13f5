-- Partitions made ahead and dropped behind, and old chunks compressed. The
-- service's role may do this through these functions and in no other way: they
-- run as the role that migrated, on the tables of corewait_hot_tables alone.
--
-- They name every object by its schema, since a caller's search_path must not
-- decide what runs with the owner's rights; time zone and date style are pinned,
-- since bounds are read and written as text.

-- +goose Up

-- corewait_create_partitions makes the missing partitions for the days from_day
-- to to_day, both included, and gives their names: <table>_pYYYYMMDD, or
-- <table>_pYYYYMM of the rollups. TimescaleDB makes its chunks itself: none then.
--
-- A partition is made apart and then attached, because CREATE TABLE PARTITION OF
-- would lock the table against the writers. Callers at the same time wait for one
-- another, and only if something is missing.
-- +goose StatementBegin
CREATE FUNCTION corewait_create_partitions(from_day date, to_day date) RETURNS SETOF text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
SET datestyle = 'ISO'
AS $$
DECLARE
    missing record;
    locked  boolean := false;
BEGIN
    IF from_day IS NULL OR to_day IS NULL OR to_day - from_day NOT BETWEEN 0 AND 400 THEN
        RAISE EXCEPTION 'corewait_create_partitions: % to % is not a range of at most 400 days', from_day, to_day
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF public.corewait_timescale() THEN
        RETURN;
    END IF;
    FOR missing IN
        SELECT h.table_name, h.slice, p.day::date AS first,
               (p.day + CASE h.slice WHEN 'day' THEN interval '1 day' ELSE interval '1 month' END)::date AS next,
               h.table_name || '_p' || to_char(p.day, CASE h.slice WHEN 'day' THEN 'YYYYMMDD' ELSE 'YYYYMM' END) AS name
        FROM public.corewait_hot_tables h
        CROSS JOIN LATERAL generate_series(date_trunc(h.slice, from_day::timestamp), to_day::timestamp,
                                           CASE h.slice WHEN 'day' THEN interval '1 day' ELSE interval '1 month' END) AS p (day)
        WHERE h.slice IN ('day', 'month')
        ORDER BY 1, 3
    LOOP
        CONTINUE WHEN public.corewait_has_partition(missing.table_name, missing.name);
        IF NOT locked THEN
            PERFORM pg_advisory_xact_lock(hashtextextended('corewait_create_partitions', 0));
            locked := true;
            CONTINUE WHEN public.corewait_has_partition(missing.table_name, missing.name);
        END IF;
        EXECUTE format('CREATE TABLE public.%I (LIKE public.%I INCLUDING ALL)', missing.name, missing.table_name);
        EXECUTE format('ALTER TABLE public.%I ATTACH PARTITION public.%I FOR VALUES FROM (%L) TO (%L)',
            missing.table_name, missing.name, missing.first::timestamptz, missing.next::timestamptz);
        RETURN NEXT missing.name;
    END LOOP;
END
$$;
-- +goose StatementEnd

-- VOLATILE, so that it sees what a caller just waited for has committed.
-- +goose StatementBegin
CREATE FUNCTION corewait_has_partition(hot text, partition text) RETURNS boolean
LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT EXISTS (
        SELECT FROM pg_inherits i
        JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = to_regclass(format('public.%I', hot)) AND c.relname = partition
    )
$$;
-- +goose StatementEnd

-- corewait_drop_partitions drops what lies wholly before the day, and gives its
-- names: partitions attached to the table, its chunks, or old rows of a table
-- that is not sliced (as table: rows). Without only_table it takes the raw tables,
-- which have days; the rollups, which are kept longer, are dropped by name. Rows
-- without a time ('-infinity') stay.
--
-- Dropping locks the table for a moment, behind whoever still reads it, and the
-- writers queue behind that: it gives up after 10 s (lock_not_available) and is
-- called again. Called once for each table it holds one such lock at a time.
-- +goose StatementBegin
CREATE FUNCTION corewait_drop_partitions(before date, only_table text DEFAULT NULL) RETURNS SETOF text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
SET datestyle = 'ISO'
SET lock_timeout = '10s'
AS $$
DECLARE
    hot     record;
    old     record;
    ends    name;
    deleted int8;
BEGIN
    IF before IS NULL THEN
        RAISE EXCEPTION 'corewait_drop_partitions: before is NULL' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF only_table IS NOT NULL AND NOT EXISTS (SELECT FROM public.corewait_hot_tables h WHERE h.table_name = only_table) THEN
        RAISE EXCEPTION 'corewait_drop_partitions: % is no table that is sliced by time', only_table
            USING ERRCODE = 'undefined_table';
    END IF;
    FOR hot IN
        SELECT h.table_name, h.slice FROM public.corewait_hot_tables h
        WHERE h.table_name = only_table OR (only_table IS NULL AND h.slice <> 'month')
        ORDER BY 1
    LOOP
        IF hot.slice = 'none' THEN
            -- Its rows end at until, or happen at an instant.
            SELECT coalesce(max(a.attname) FILTER (WHERE a.attname = 'until'), 'at') INTO STRICT ends
            FROM pg_attribute a WHERE a.attrelid = format('public.%I', hot.table_name)::regclass;
            EXECUTE format('DELETE FROM public.%I WHERE %I < $1 AND %2$I > ''-infinity''', hot.table_name, ends) USING before::timestamptz;
            GET DIAGNOSTICS deleted = ROW_COUNT;
            IF deleted > 0 THEN
                RETURN NEXT hot.table_name || ': ' || deleted || ' rows';
            END IF;
        ELSIF public.corewait_timescale() THEN
            RETURN QUERY EXECUTE format('SELECT %I.drop_chunks(%L::regclass, older_than => $1)',
                public.corewait_timescale_schema(), format('public.%I', hot.table_name)) USING before::timestamptz;
        ELSE
            FOR old IN
                SELECT n.nspname, c.relname
                FROM pg_inherits i
                JOIN pg_class c ON c.oid = i.inhrelid
                JOIN pg_namespace n ON n.oid = c.relnamespace
                WHERE i.inhparent = format('public.%I', hot.table_name)::regclass
                  AND substring(pg_get_expr(c.relpartbound, c.oid) FROM $re$^FOR VALUES FROM \('[^']+'\) TO \('([^']+)'\)$re$)::timestamptz
                      <= before::timestamptz
                ORDER BY 2
            LOOP
                EXECUTE format('DROP TABLE %I.%I', old.nspname, old.relname);
                RETURN NEXT old.relname;
            END LOOP;
        END IF;
    END LOOP;
END
$$;
-- +goose StatementEnd

-- corewait_compress_chunks compresses the chunks that lie wholly before the day
-- and gives their names; none on plain Postgres, and none in the Apache edition.
-- Compress later than the longest spool: late rows into compressed chunks are
-- slow. Without only_table it takes all tables, in one transaction.
-- +goose StatementBegin
CREATE FUNCTION corewait_compress_chunks(before date, only_table text DEFAULT NULL) RETURNS SETOF text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
SET datestyle = 'ISO'
SET lock_timeout = '10s'
AS $$
DECLARE
    timescale name := public.corewait_timescale_schema();
    hot       text;
    chunk     record;
BEGIN
    IF before IS NULL THEN
        RAISE EXCEPTION 'corewait_compress_chunks: before is NULL' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF only_table IS NOT NULL AND NOT EXISTS (SELECT FROM public.corewait_hot_tables h WHERE h.table_name = only_table) THEN
        RAISE EXCEPTION 'corewait_compress_chunks: % is no table that is sliced by time', only_table
            USING ERRCODE = 'undefined_table';
    END IF;
    IF NOT public.corewait_timescale() OR current_setting('timescaledb.license', true) IS DISTINCT FROM 'timescale' THEN
        RETURN;
    END IF;
    FOR hot IN
        SELECT h.table_name FROM public.corewait_hot_tables h
        WHERE h.slice <> 'none' AND (only_table IS NULL OR h.table_name = only_table)
        ORDER BY 1
    LOOP
        FOR chunk IN
            SELECT c.chunk_schema, c.chunk_name FROM timescaledb_information.chunks c
            WHERE c.hypertable_schema = 'public' AND c.hypertable_name = hot
              AND NOT c.is_compressed AND c.range_end <= before::timestamptz
            ORDER BY c.range_end
        LOOP
            EXECUTE format('SELECT %I.compress_chunk(%L::regclass)', timescale, format('%I.%I', chunk.chunk_schema, chunk.chunk_name));
            RETURN NEXT chunk.chunk_name;
        END LOOP;
    END LOOP;
END
$$;
-- +goose StatementEnd

REVOKE ALL ON FUNCTION corewait_create_partitions(date, date) FROM PUBLIC;
REVOKE ALL ON FUNCTION corewait_drop_partitions(date, text) FROM PUBLIC;
REVOKE ALL ON FUNCTION corewait_compress_chunks(date, text) FROM PUBLIC;

-- +goose Down
DROP FUNCTION corewait_compress_chunks(date, text);
DROP FUNCTION corewait_drop_partitions(date, text);
DROP FUNCTION corewait_create_partitions(date, date);
DROP FUNCTION corewait_has_partition(text, text);
