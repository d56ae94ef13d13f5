#!/bin/sh
# Gathers on one database node what `corewait analyze` reads: interrupts, CPU
# time, disks, the CPU that LGWR is on and whether it ran, queued or slept, and
# how the node is built.
#
#   sh collect.sh [-d seconds] [-i interval] [-o folder] [-p pattern]
#
#   -d  how long, in seconds (default 900)
#   -i  seconds between readings of interrupts and CPU time (default 5)
#   -o  folder to work in and to leave the archive in (default: the current one)
#   -p  extended regular expression of the processes whose CPU is followed
#       (default: LGWR, its LGnn workers and LMS)
#
# It only reads, writes nowhere but to that folder, and needs no root unless
# /proc hides the processes of other users (hidepid). Every tool that is
# missing is done without. It leaves one archive,
# corewait-<host>-<UTC time>-<process>.tar.gz, and prints its name. When interrupted it
# packs what it has.

# shellcheck disable=SC2317 # functions are called through loop

duration=900
interval=5
outdir=.
pattern='^ora_(lgwr|lg[0-9][0-9a-z]|lms[0-9a-z])_'

# Free space below which nothing is begun and gathering stops, in KiB.
least_space=204800
# Seconds between two readings of the threads' places. With what a reading and
# starting sleep take it stays under 0.2 s, the most at which the time of a stall
# can be taken apart.
place_pause=0.15
# Seconds after the time is over at which a loop ends that nobody has stopped.
grace=60
# Readings of places between two looks for new processes: about a minute.
looks=360

set -u
umask 077
LC_ALL=C
S_TIME_FORMAT=ISO
export LC_ALL S_TIME_FORMAT

say() { printf 'corewait: %s\n' "$*" >&2; }

fail() {
	say "$*"
	exit 1
}

have() { command -v "$1" >/dev/null 2>&1; }

usage() {
	say "usage: sh collect.sh [-d seconds] [-i interval] [-o folder] [-p pattern]"
	exit 2
}

# whole_number NAME VALUE LOWEST HIGHEST
whole_number() {
	case $2 in
	'' | *[!0-9]* | 0?* | ????????*) say "$1: not a whole number: $2" && usage ;;
	esac
	if [ "$2" -lt "$3" ] || [ "$2" -gt "$4" ]; then
		say "$1: between $3 and $4" && usage
	fi
}

# regular_expression says whether awk, which will match by it, takes it for one.
regular_expression() { PATTERN=$1 awk 'BEGIN { exit ("" ~ ENVIRON["PATTERN"]) * 0 }' </dev/null >/dev/null 2>&1; }

# stamp prints the time, with its offset, as analyze reads it before a block.
stamp() { date "$stamp_format"; }

# free_space prints the free KiB of the folder.
free_space() { df -Pk "$outdir" 2>/dev/null | awk 'NR == 2 { print $4 }'; }

# size_of prints the bytes of a file of /proc; 0 where it cannot be read.
# shellcheck disable=SC2002 # the size that the kernel tells of them is 0
size_of() { cat "$1" 2>/dev/null | wc -c | tr -d ' '; }

# uptime_cs sets cs to the hundredths of a second since boot. It starts no process.
uptime_cs() {
	read -r up rest </proc/uptime || return 1
	fraction=1${up#*.}
	cs=$((${up%%.*} * 100 + fraction - 100))
}

# pause waits so that a signal is dealt with at once.
pause() {
	sleep "$1" &
	sleeping=$!
	# A signal that came before the line above found nothing to cut short.
	[ -z "$ended" ] || kill "$sleeping" 2>/dev/null
	# dash says "Terminated" of a sleep that a signal cut short.
	{ wait "$sleeping"; } 2>/dev/null
}

# until_stopped makes a signal end a loop after the reading it is at, and cut
# its pause short. It may come before the loop is ready for it: the file "stop",
# which it looks for between two readings, ends a loop as well.
until_stopped() {
	sleeping=''
	trap 'ended=1; [ -z "$sleeping" ] || kill "$sleeping" 2>/dev/null' TERM
}

# going says whether a loop is to go on: not once it was told to stop, and not
# on its own where the script was killed, its folder is gone, or the time is long
# over.
going() {
	[ -z "$ended" ] && [ ! -e "$parent/stop" ] && [ -d "$work" ] && kill -0 "$$" 2>/dev/null &&
		uptime_cs && [ "$cs" -lt "$deadline" ]
}

# snapshots FILE SECONDS TARGET: a file of /proc again and again, the time before each.
snapshots() {
	until_stopped
	while going; do
		{ stamp && cat "$1"; } >>"$3" 2>>"$work/errors.txt" </dev/null
		going && pause "$2"
	done
}

# matching prints "pid name" of the processes that the pattern is of.
matching() {
	ps -e -o pid= -o args= 2>/dev/null |
		PATTERN=$pattern awk '$2 ~ ENVIRON["PATTERN"] { n = split($2, part, "/"); print $1, part[n] }'
}

# find_threads sets threads to "pid/tid/name" of all threads to follow. The
# kernel cuts names to 15 bytes; where that is what was cut, the whole name is taken.
find_threads() {
	threads=
	set +f
	processes=$(matching)
	while read -r pid name; do
		[ -n "$pid" ] || continue
		for task in /proc/"$pid"/task/*; do
			{ read -r line <"$task/stat"; } 2>/dev/null || continue
			short=${line#*\(}
			short=${short%\)*}
			case $name in
			"$short"*) called=$name ;;
			*) called=$(printf %s "$short" | tr -s ' \t/' '___') ;;
			esac
			threads="$threads $pid/${task##*/}/$called"
		done
	done <<-END
		$processes
	END
	set -f
}

# find_clock sets base to the hundredths of a second since 1970 at boot, so that
# each reading has its time without starting a process. Done again with every
# look for threads, it follows corrections of the clock.
find_clock() {
	now=$(date +%s.%N)
	uptime_cs || return 1
	fraction=${now#*.}
	fraction=1${fraction%???????}
	base=$((${now%%.*} * 100 + fraction - 100 - cs))
}

# policy sets class to what ps calls a scheduling policy.
policy() {
	case $1 in
	0) class=TS ;;
	1) class=FF ;;
	2) class=RR ;;
	3) class=B ;;
	5) class=IDL ;;
	6) class=DLN ;;
	*) class='?' ;;
	esac
}

# place TASK adds one row: the CPU the thread is on or was on last is field 39
# of its stat, which is counted behind the name, since that may hold blanks. Its
# schedstat gives the nanoseconds that it ran, those that it queued for a CPU,
# and how often it was put on one; a kernel that counts none of it has no such
# file, or three zeros.
place() {
	pid=${1%%/*}
	called=${1#*/}
	tid=${called%%/*}
	called=${called#*/}
	{ read -r line <"/proc/$pid/task/$tid/stat"; } 2>/dev/null || return 0
	{ read -r ran queued slices <"/proc/$pid/task/$tid/schedstat"; } 2>/dev/null || slices=0
	if [ "$slices" = 0 ]; then
		ran=-
		queued=-
	fi
	# shellcheck disable=SC2086 # cut into fields
	set -- ${line##*\) }
	[ "$#" -ge 39 ] || return 0
	policy "${39}"
	rows="$rows$pid $tid ${37} $1 $class $ran $queued $called
"
}

# places follows the threads about six times a second. Its only process is sleep.
# A reading that was held up for more than 20 ms has no certain time and is
# left out.
places() {
	until_stopped
	exec >>"$work/placement.txt" 2>>"$work/errors.txt" </dev/null
	left=0
	while going; do
		if [ "$left" -eq 0 ]; then
			left=$looks
			find_threads
			find_clock || exit 1
		fi
		left=$((left - 1))
		uptime_cs || exit 1
		at=$((base + cs))
		before=$cs
		rows=
		for thread in $threads; do
			place "$thread"
		done
		uptime_cs || exit 1
		if [ "$((cs - before))" -le 2 ] && [ -n "$rows" ]; then
			hundredths=$((at % 100))
			[ "$hundredths" -gt 9 ] || hundredths=0$hundredths
			printf '%s.%s\nPID TID PSR S CLS EXEC_NS WAIT_NS COMMAND\n%s' "$((at / 100))" "$hundredths" "$rows"
		fi
		going && pause "$place_pause"
	done
}

# places_by_ps does the same once a second where the shell cannot, without the
# times of schedstat.
places_by_ps() {
	until_stopped
	while going; do
		{ stamp && ps -L -o pid,tid,psr,stat,cls,comm -p "$pids"; } >>"$work/placement.txt" 2>>"$work/errors.txt" </dev/null
		going && pause 1
	done
}

# fine_clock says whether times and pauses of fractions of a second can be had.
fine_clock() {
	case $(date +%N 2>/dev/null) in
	[0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9]) ;;
	*) return 1 ;;
	esac
	sleep 0.01 2>/dev/null && uptime_cs 2>/dev/null
}

# loop FUNCTION ARGUMENTS: a reading that goes on until it is stopped.
loop() {
	"$@" &
	loops="$loops $!"
}

# tool TARGET COMMAND ARGUMENTS: a tool that ends by itself after its count.
tool() {
	target=$1
	shift
	have "$1" || return 0
	"$@" >"$work/$target" 2>>"$work/errors.txt" </dev/null &
	tools="$tools $!"
}

# built tells how the node is built.
built() {
	if have lscpu; then
		lscpu >"$work/lscpu.txt"
		lscpu -p=CPU,CORE,SOCKET,NODE >"$work/lscpu_p.txt"
	fi
	if have numactl; then
		numactl -H >"$work/numactl.txt"
	fi
	bonds
	for file in /proc/irq/*/effective_affinity_list; do
		[ -r "$file" ] && printf '%s: %s\n' "$file" "$(cat "$file")"
	done >"$work/irq_affinity.txt"
	ports >"$work/ports.txt"
	for file in irq_affinity.txt ports.txt; do
		[ -s "$work/$file" ] || rm -f "$work/$file"
	done
}

# bonds tells how network ports are bonded. Done at both ends, it shows whether
# a bond has changed its active port.
bonds() {
	for file in /proc/net/bonding/*; do
		[ -r "$file" ] || continue
		[ "$file" != "${first_bond:=$file}" ] || stamp
		printf '==> %s <==\n' "$file"
		cat "$file"
	done >>"$work/bonding.log"
	[ -s "$work/bonding.log" ] || rm -f "$work/bonding.log"
}

# ports tells the NUMA node and the interrupts of each network port.
ports() {
	for device in /sys/class/net/*/device; do
		[ -d "$device" ] || continue
		if [ -r "$device/numa_node" ]; then
			printf '%s: %s\n' "$device/numa_node" "$(cat "$device/numa_node")"
		fi
		if [ -d "$device/msi_irqs" ]; then
			printf '%s:' "$device/msi_irqs"
			for irq in "$device"/msi_irqs/*; do
				printf ' %s' "${irq##*/}"
			done
			printf '\n'
		fi
	done
}

# follow begins to follow the processes.
follow() {
	processes=$(matching)
	if [ -z "$processes" ]; then
		say "no process matches $pattern: there is no LGWR here, or /proc hides it (hidepid: run as oracle or root). Gathering the rest."
		return 0
	fi
	pids=$(printf '%s\n' "$processes" | awk '{ printf "%s%s", comma, $1; comma = "," }')
	if fine_clock; then
		loop places
	elif have pidstat; then
		tool pidstat.txt pidstat -t -p "$pids" 1 "$duration"
	else
		loop places_by_ps
	fi
}

# begin starts everything that goes on until the end.
begin() {
	uptime_cs || fail "/proc/uptime cannot be read"
	deadline=$((cs + (duration + grace) * 100))
	# Per-device output of a node with many devices is large: read it less often.
	disks=$(wc -l </proc/diskstats 2>/dev/null || echo 0)
	disk_interval=1
	[ "$disks" -gt 200 ] && disk_interval=$interval
	follow
	# What begins from here on gives way to others; the reading of places does
	# not, since it must hold while the node is busy.
	renice -n 5 -p "$$" >/dev/null 2>&1
	loop snapshots /proc/interrupts "$interval" "$work/interrupts.log"
	loop snapshots /proc/softirqs "$interval" "$work/softirqs.log"
	loop snapshots /proc/stat "$stat_interval" "$work/stat.log"
	[ "$disks" -gt 0 ] && loop snapshots /proc/diskstats "$disk_interval" "$work/diskstats.log"
	tool mpstat.txt mpstat -P ALL "$interval" "$((duration / interval))"
	tool vmstat.txt vmstat -t 1 "$duration"
	tool iostat.txt iostat -xt "$disk_interval" "$((duration / disk_interval))"
}

# keep_on waits until the time is over, a signal comes or space runs out.
keep_on() {
	uptime_cs || fail "/proc/uptime cannot be read"
	first=$cs
	checked=0
	while [ -z "$stopped" ]; do
		uptime_cs
		elapsed=$(((cs - first) / 100))
		[ "$elapsed" -lt "$duration" ] || break
		[ -t 2 ] && printf '\rcorewait: %d of %d s ' "$elapsed" "$duration" >&2
		if [ "$((elapsed - checked))" -ge 10 ]; then
			checked=$elapsed
			if [ "$(free_space)" -lt "$least_space" ]; then
				say "less than $((least_space / 1024)) MiB free in $outdir: stopping early"
				stopped=0
			fi
		fi
		pause 1
	done
	[ -t 2 ] && printf '\n' >&2
	# A pause that a signal cut short is still asleep.
	kill "$sleeping" 2>/dev/null
}

# press makes the tools end that have not, once patience is over. A file tells
# it that they have: a signal could come before it is ready for one.
press() {
	while [ "$patience" -gt 0 ] && [ ! -e "$parent/ended" ]; do
		patience=$((patience - 1))
		sleep 1
	done
	# shellcheck disable=SC2086 # a list of numbers
	[ -e "$parent/ended" ] || kill -INT $tools 2>/dev/null
	[ -e "$parent/ended" ] || sleep 1
	# shellcheck disable=SC2086
	[ -e "$parent/ended" ] || kill -TERM $tools 2>/dev/null
}

# finish stops what is running. Tools hold output back until they end: they
# get time to, then are asked, then told.
finish() {
	: >"$parent/stop"
	# shellcheck disable=SC2086 # a list of numbers
	[ -n "$loops" ] && kill -TERM $loops 2>/dev/null
	if [ -n "$tools" ]; then
		patience=$((interval + 2))
		[ -n "$stopped" ] && patience=0
		press &
		# shellcheck disable=SC2086
		wait $tools 2>/dev/null
		: >"$parent/ended"
	fi
	wait
}

# pack makes the archive and removes the folder it was made from.
pack() {
	[ -s "$work/errors.txt" ] || rm -f "$work/errors.txt"
	archive=$outdir/$name.tar.gz
	tar -C "$parent" -czf "$archive.part" "$host" || fail "tar failed: what was gathered is in $work"
	[ ! -e "$archive" ] || fail "$archive exists: what was gathered is $archive.part"
	mv "$archive.part" "$archive" || fail "cannot name the archive: it is $archive.part"
	rm -rf "$parent"
	printf '%s\n' "$archive"
}

prepare() {
	for command in tar gzip awk; do
		have "$command" || fail "$command is missing"
	done
	[ "$(size_of /proc/interrupts)" -gt 0 ] || fail "/proc/interrupts cannot be read or is empty: run this on the database node, outside of containers"
	case $outdir in -*) outdir=./$outdir ;; esac
	if [ ! -d "$outdir" ] || [ ! -w "$outdir" ]; then
		fail "$outdir: not a folder that can be written to"
	fi
	stamp_format=+%Y-%m-%dT%H:%M:%S.%N%z
	case $(date "$stamp_format") in *N*) stamp_format=+%Y-%m-%dT%H:%M:%S%z ;; esac
	# A row of /proc/stat for each CPU: read every second unless they are many.
	stat_interval=1
	[ "$(grep -c '^cpu' /proc/stat)" -gt 257 ] && stat_interval=$interval

	readings=$((duration / interval + 1))
	needed=$((($(size_of /proc/interrupts) + $(size_of /proc/softirqs)) * readings))
	needed=$(((needed + ($(size_of /proc/stat) + 3 * $(size_of /proc/diskstats)) * duration) / 1024))
	space=$(free_space)
	case $space in '' | *[!0-9]*) fail "$outdir: its free space cannot be told" ;; esac
	if [ "$space" -lt "$((least_space + needed))" ]; then
		fail "$outdir: $((space / 1024)) MiB free, $(((least_space + needed) / 1024)) MiB wanted: choose another folder with -o or a shorter time with -d"
	fi

	host=$(uname -n)
	host=$(printf %s "${host%%.*}" | tr -c 'A-Za-z0-9_-' '_')
	name=corewait-$host-$(date -u +%Y%m%dT%H%M%SZ)-$$
	for made in "$outdir/$name.tar.gz" "$outdir/$name.tar.gz.part"; do
		[ ! -e "$made" ] || fail "$made exists"
	done
	parent=$outdir/.$name
	work=$parent/$host
	mkdir "$parent" "$work" || fail "$parent: cannot be made"
}

main() {
	while getopts d:i:o:p: option; do
		case $option in
		d) duration=$OPTARG ;;
		i) interval=$OPTARG ;;
		o) outdir=$OPTARG ;;
		p) pattern=$OPTARG ;;
		*) usage ;;
		esac
	done
	[ "$OPTIND" -gt "$#" ] || usage
	whole_number -d "$duration" 1 604800
	whole_number -i "$interval" 1 3600
	[ "$interval" -le "$duration" ] || usage
	[ -n "$pattern" ] || usage
	if have awk && ! regular_expression "$pattern"; then
		say "-p: not a regular expression: $pattern" && usage
	fi

	prepare
	loops=''
	tools=''
	stopped=''
	ended=''
	sleeping=''
	trap 'stopped=130' INT
	trap 'stopped=143' TERM HUP
	say "gathering for $duration s in $outdir (interrupt to stop early)"
	built 2>>"$work/errors.txt" </dev/null
	begin
	keep_on
	bonds 2>>"$work/errors.txt"
	finish
	pack
	exit "${stopped:-0}"
}

# Read whole before anything runs, also from a pipe.
main "$@"
