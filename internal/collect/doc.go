// Package collect owns the two scripts that gather what `corewait analyze`
// reads where no binary may be installed: a shell script for the node and a
// SQL*Plus script for its instance. It only makes their text; it runs nothing.
//
// Both scripts are read-only. The shell script is tested by running it. Several
// times a second it notes of each followed thread the CPU, the state and, from
// /proc/PID/task/TID/schedstat, the times that the thread ran and queued so far,
// so that the time of a stall can be taken apart.
//
// The SQL*Plus script could not be run against a database when it was written:
// what is tested is that output in the form it prints is read without loss, and
// that licensed views are not named unless asked for. Its statements follow the
// Oracle Database Reference (V$EVENT_HISTOGRAM_MICRO, V$SYSTEM_EVENT,
// V$SYSSTAT, V$INSTANCE, V$CLUSTER_INTERCONNECTS) and the SQL*Plus User's Guide.
package collect
