package files

// Kinds of files, as people read them in lists of inputs and of what is
// missing. The values are stable: they are part of the JSON output.
const (
	KindInterrupts     Kind = "interrupts"      // /proc/interrupts, once or as a log
	KindSoftirqs       Kind = "softirqs"        // /proc/softirqs
	KindStat           Kind = "stat"            // /proc/stat
	KindDiskstats      Kind = "diskstats"       // /proc/diskstats
	KindBonding        Kind = "bonding"         // /proc/net/bonding/*
	KindLscpu          Kind = "lscpu"           // lscpu, plain, -p, -e or -J
	KindNumactl        Kind = "numactl"         // numactl -H
	KindSysfs          Kind = "sysfs"           // ports and IRQ affinity, as lines "path: value"
	KindPidstat        Kind = "pidstat"         // pidstat, with and without -t and -h
	KindMpstat         Kind = "mpstat"          // mpstat -P ALL
	KindVmstat         Kind = "vmstat"          // vmstat -t
	KindIostat         Kind = "iostat"          // iostat -xt
	KindPs             Kind = "ps"              // ps -eLo pid,tid,psr,... in a loop
	KindASH            Kind = "ash"             // rows of V$ACTIVE_SESSION_HISTORY or DBA_HIST_ACTIVE_SESS_HISTORY
	KindEventHistogram Kind = "event-histogram" // V$EVENT_HISTOGRAM or V$EVENT_HISTOGRAM_MICRO
	KindSystemEvent    Kind = "system-event"    // V$SYSTEM_EVENT
	KindSysstat        Kind = "sysstat"         // V$SYSSTAT
	KindInstance       Kind = "instance"        // V$INSTANCE
	KindInterconnects  Kind = "interconnects"   // V$CLUSTER_INTERCONNECTS
)
