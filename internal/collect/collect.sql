-- Gathers from one instance what `corewait analyze` reads, and spools it to
-- corewait_oracle.csv in the current folder.

--   sqlplus -S / as sysdba @collect.sql

-- Read-only. Run it on the node of the instance while collect.sh runs there, and
-- in a multitenant database connect to the root. It takes {{.Total}} seconds.
-- The account needs SELECT on V$INSTANCE, V$CLUSTER_INTERCONNECTS,
-- V$EVENT_HISTOGRAM_MICRO (before release 12.2 V$EVENT_HISTOGRAM), V$SYSTEM_EVENT
-- and V$SYSSTAT, and before release 18 EXECUTE on DBMS_LOCK.
{{- if .ASH}}

-- LICENCE: this variant of the script reads V$ACTIVE_SESSION_HISTORY, which is
-- part of the Oracle Diagnostics Pack and must be licensed for this database,
-- whatever CONTROL_MANAGEMENT_PACK_ACCESS says. It stops at once unless you
-- define that it is, before you run it:

--   SQL> define corewait_diagnostics_pack = licensed
{{- else}}
-- It reads no view that needs a licence of its own.
{{- end}}

set echo off
set feedback off
set verify off
set heading off
set pagesize 0
set linesize 32767
set trimspool on
set tab off
set wrap on
set define {{if .ASH}}'&'{{else}}off{{end}}
set serveroutput on size unlimited format wrapped
{{- if .ASH}}

prompt This script reads V$ACTIVE_SESSION_HISTORY. Its use requires a licence for the
prompt Oracle Diagnostics Pack on this database. If there is none, leave this script now.
prompt If there is one, say so before running it:  define corewait_diagnostics_pack = licensed

whenever sqlerror exit failure
-- Not defined beforehand, SQL*Plus asks for the value; anything but "licensed" ends the script.
declare
  pack_access varchar2(4000);
begin
  if lower(trim('&corewait_diagnostics_pack')) = 'licensed' then
    null;
  else
    raise_application_error(-20001, 'no licence for the Diagnostics Pack was declared: nothing was read');
  end if;
  select max(value) into pack_access from v$parameter where name = 'control_management_pack_access';
  if nvl(pack_access, 'NONE') not like '%DIAGNOSTIC%' then
    raise_application_error(-20002, 'CONTROL_MANAGEMENT_PACK_ACCESS does not allow the Diagnostics Pack: nothing was read');
  end if;
end;
/
set define off
{{- end}}
whenever sqlerror continue
-- Texts of times in the one form that is the same everywhere.
alter session set nls_timestamp_tz_format = 'YYYY-MM-DD"T"HH24:MI:SS.FF6TZH:TZM';

prompt Sampling for {{.Total}} seconds into corewait_oracle.csv
set termout off
spool corewait_oracle.csv

prompt INST_ID,INSTANCE_NAME,HOST_NAME
select instance_number || ',"' || instance_name || '","' || host_name || '"' from v$instance;

prompt
prompt NAME,IP_ADDRESS,IS_PUBLIC,SOURCE
select '"' || name || '","' || ip_address || '","' || is_public || '","' || source || '"' from v$cluster_interconnects;

prompt
-- Once a second the histograms of the waits of commits, every ten seconds the
-- counters. Lines of DBMS_OUTPUT are printed when the block ends, so the block
-- takes {{.Seconds}} seconds and is run again until the time is over.
declare
  block_seconds constant pls_integer := {{.Seconds}};
  inst          constant varchar2(10) := sys_context('USERENV', 'INSTANCE');
  form          constant varchar2(40) := 'YYYY-MM-DD"T"HH24:MI:SS.FF6TZH:TZM';
  started       constant timestamp with time zone := systimestamp;
  left_over     number;

  procedure histograms is
  begin
    for r in (
      select to_char(systimestamp, form) as snap_time, event, bucket, wait_count, last_update_time
      from (
        select event, wait_count, last_update_time,
  $if dbms_db_version.version > 12 or (dbms_db_version.version = 12 and dbms_db_version.release >= 2) $then
               wait_time_micro as bucket from v$event_histogram_micro
  $else
               wait_time_milli as bucket from v$event_histogram
  $end
        where event in ('log file sync', 'log file parallel write', 'SYNC Remote Write', 'wait for scn ack')
      )
      order by event, bucket
    ) loop
      dbms_output.put_line(r.snap_time || ',' || inst || ',"' || r.event || '",' || r.bucket || ',' || r.wait_count
        || ',"' || r.last_update_time || '"');
    end loop;
  end;

  procedure counters is
  begin
    dbms_output.put_line('SNAP_TIME,INST_ID,NAME,VALUE');
    for r in (
      select to_char(systimestamp, form) as snap_time, name, value
      from   v$sysstat
      where  name in ('user commits', 'user rollbacks', 'user calls', 'execute count', 'logons current')
      or     name like 'redo %'
    ) loop
      dbms_output.put_line(r.snap_time || ',' || inst || ',"' || r.name || '",' || to_char(r.value, 'TM9'));
    end loop;
    dbms_output.put_line('SNAP_TIME,INST_ID,EVENT,TOTAL_WAITS,TIME_WAITED_MICRO');
    for r in (
      select to_char(systimestamp, form) as snap_time, event, total_waits, time_waited_micro
      from   v$system_event
      where  wait_class <> 'Idle'
    ) loop
      dbms_output.put_line(r.snap_time || ',' || inst || ',"' || r.event || '",' || to_char(r.total_waits, 'TM9')
        || ',' || to_char(r.time_waited_micro, 'TM9'));
    end loop;
  end;

  procedure histogram_heading is
  begin
  $if dbms_db_version.version > 12 or (dbms_db_version.version = 12 and dbms_db_version.release >= 2) $then
    dbms_output.put_line('SNAP_TIME,INST_ID,EVENT,WAIT_TIME_MICRO,WAIT_COUNT,LAST_UPDATE_TIME');
  $else
    dbms_output.put_line('SNAP_TIME,INST_ID,EVENT,WAIT_TIME_MILLI,WAIT_COUNT,LAST_UPDATE_TIME');
  $end
  end;

  -- Seconds since the block began.
  function elapsed return number is
    passed constant interval day to second := systimestamp - started;
  begin
    return extract(day from passed) * 86400 + extract(hour from passed) * 3600
      + extract(minute from passed) * 60 + extract(second from passed);
  end;
begin
  for tick in 0 .. block_seconds - 1 loop
    if mod(tick, 10) = 0 then
      counters;
      histogram_heading;
    end if;
    histograms;
    left_over := tick + 1 - elapsed;
    if left_over > 0.01 then
  $if dbms_db_version.version >= 18 $then
      dbms_session.sleep(left_over);
  $else
      dbms_lock.sleep(left_over);
  $end
    end if;
  end loop;
end;
/
{{- range .Again}}
/
{{- end}}
{{- if .ASH}}

-- Rows are completed with the time waited some seconds after their sample.
begin
  $if dbms_db_version.version >= 18 $then
  dbms_session.sleep(5);
  $else
  dbms_lock.sleep(5);
  $end
end;
/
prompt
prompt SAMPLE_ID,SAMPLE_TIME,INST_ID,SESSION_ID,SESSION_SERIAL#,SESSION_TYPE,SQL_ID,EVENT,WAIT_CLASS,SESSION_STATE,TIME_WAITED,P1,P2,P3,PROGRAM,MODULE,MACHINE,SERVICE_HASH
-- SAMPLE_TIME is the time of the database host and carries no zone: it gets that of SYSTIMESTAMP.
select to_char(sample_id, 'TM9') || ',' || to_char(sample_time, 'YYYY-MM-DD"T"HH24:MI:SS.FF3') || to_char(systimestamp, 'TZH:TZM')
  || ',' || sys_context('USERENV', 'INSTANCE') || ',' || session_id || ',' || session_serial# || ',' || session_type || ',' || sql_id
  || ',"' || event || '","' || wait_class || '",' || session_state || ',' || to_char(time_waited, 'TM9')
  || ',' || to_char(p1, 'TM9') || ',' || to_char(p2, 'TM9') || ',' || to_char(p3, 'TM9')
  || ',"' || replace(program, '"', '""') || '","' || replace(module, '"', '""') || '","' || replace(machine, '"', '""') || '",' || to_char(service_hash, 'TM9')
from   v$active_session_history
where  sample_time >= cast(systimestamp as timestamp) - numtodsinterval({{.Total}} + 60, 'SECOND')
order  by sample_id, session_id;
{{- end}}

spool off
set termout on
prompt Done: corewait_oracle.csv
exit
