-- Roles that logins are made members of. A role belongs to the whole server and
-- may serve other databases: it is made where it is missing, and Down takes its
-- rights in this database away and leaves the role.

-- +goose Up

-- Two databases of one server may be migrated at the same time.
-- +goose StatementBegin
DO $$
DECLARE
    wanted text;
BEGIN
    FOREACH wanted IN ARRAY ARRAY['corewait_writer', 'corewait_reader'] LOOP
        IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = wanted) THEN
            BEGIN
                EXECUTE format('CREATE ROLE %I NOLOGIN', wanted);
            EXCEPTION
                WHEN duplicate_object OR unique_violation THEN
                    NULL;
                WHEN insufficient_privilege THEN
                    RAISE EXCEPTION 'role % is missing, and % may not create roles: have a superuser run CREATE ROLE % NOLOGIN',
                        wanted, current_user, wanted USING ERRCODE = 'insufficient_privilege';
            END;
        END IF;
    END LOOP;
END
$$;
-- +goose StatementEnd

GRANT USAGE ON SCHEMA public TO corewait_writer, corewait_reader;

-- The service: rows of all tables, but not the schema. It revokes tokens and
-- deletes none. What the migrations keep about themselves it reads only.
GRANT SELECT, INSERT, UPDATE, DELETE ON
    names, nodes, instances, interrupt_lines,
    topology, topology_cpus, topology_ports, topology_bonds, topology_irqs,
    collections, collection_imports, collection_nodes, collection_inputs,
    interrupt_samples, device_samples, softirq_samples, cpu_samples, system_samples, disk_samples, placement_samples,
    waits, histograms, counters, sql_timings, coverage_gaps, node_events, sql_texts,
    kept_interrupt_samples, kept_device_samples, kept_softirq_samples, kept_cpu_samples, kept_system_samples,
    kept_disk_samples, kept_placement_samples,
    kept_waits, kept_histograms, kept_counters, kept_sql_timings, kept_coverage_gaps, kept_node_events,
    interrupt_rollups, cpu_rollups, placement_rollups, wait_rollups,
    changes, incidents, findings, tallies, stalls,
    receipts, dirty_windows, agents, watermarks, leases, job_runs
TO corewait_writer;
GRANT SELECT, INSERT, UPDATE ON tokens TO corewait_writer;
GRANT SELECT ON corewait_migrations, corewait_settings, corewait_hot_tables TO corewait_writer;
GRANT EXECUTE ON FUNCTION corewait_create_partitions(date, date), corewait_drop_partitions(date, text),
    corewait_compress_chunks(date, text) TO corewait_writer;

-- People with Grafana: samples and what they refer to, without SQL text,
-- credentials and the service's own books.
GRANT SELECT ON
    names, nodes, instances, interrupt_lines,
    topology, topology_cpus, topology_ports, topology_bonds, topology_irqs,
    collections, collection_nodes, collection_inputs,
    interrupt_samples, device_samples, softirq_samples, cpu_samples, system_samples, disk_samples, placement_samples,
    waits, histograms, counters, sql_timings, coverage_gaps, node_events,
    kept_interrupt_samples, kept_device_samples, kept_softirq_samples, kept_cpu_samples, kept_system_samples,
    kept_disk_samples, kept_placement_samples,
    kept_waits, kept_histograms, kept_counters, kept_sql_timings, kept_coverage_gaps, kept_node_events,
    interrupt_rollups, cpu_rollups, placement_rollups, wait_rollups,
    changes, incidents, findings, tallies, stalls
TO corewait_reader;

-- +goose Down
REVOKE ALL ON ALL TABLES IN SCHEMA public FROM corewait_writer, corewait_reader;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA public FROM corewait_writer;
REVOKE ALL ON SCHEMA public FROM corewait_writer, corewait_reader;
