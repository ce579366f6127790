#!/bin/sh
# Runs the conformance suite and the benchmark on this machine's Vulkan devices and collects the
# reports in one archive. Needs a Vulkan loader (libvulkan.so.1) and a driver, nothing else.
set -u

usage() {
    cat <<'END'
usage: ./run-suite.sh [--quick] [--filter GLOB] [--device D] [--icd FILE] [--validation]
                      [--output FOLDER]

  --quick           highest feature level only, and a short benchmark: some minutes
  --filter GLOB     these cases only, such as '*/gemm/*'; all of them if not given
  --device D        a device by index, name or UUID; all of them if not given
  --icd FILE        the driver that this manifest names, and no other
  --validation      the suite under the Vulkan validation layer, which must be installed
  --output FOLDER   where the reports go, new or empty; reports/ if not given

Exit code: 0 everything passed, 1 something failed (the others have run), 2 wrong usage, 3 no device
or no report of devices, 4 nothing failed, but a limit of the device refused cases.
END
}

wrong() {
    echo "run-suite.sh: $1" >&2
    usage >&2
    exit 2
}

here=$(cd "$(dirname "$0")" && pwd) || exit 2
levels=all
quick=
filter='**'
device=all
validation=
output=reports
while [ $# -gt 0 ]; do
    case $1 in
    --quick) quick=--quick levels=6_4 ;;
    --validation) validation=--validation ;;
    --filter | --device | --icd | --output)
        [ $# -ge 2 ] || wrong "$1 needs a value"
        case $1 in
        --filter) filter=$2 ;;
        --device) device=$2 ;;
        --output) output=$2 ;;
        --icd)
            [ -f "$2" ] || wrong "--icd $2: there is no such file"
            # A newer loader reads the first, an older one the second.
            VK_DRIVER_FILES=$2 VK_ICD_FILENAMES=$2
            export VK_DRIVER_FILES VK_ICD_FILENAMES
            ;;
        esac
        shift
        ;;
    --help | -h)
        usage
        exit 0
        ;;
    *) wrong "$1: unknown argument" ;;
    esac
    shift
done

mkdir -p "$output" || exit 2
output=$(cd "$output" && pwd) || exit 2
[ -z "$(ls -A "$output")" ] || wrong "--output $output: the folder is not empty"
# Nothing of this user's is read or written elsewhere.
DML_PIPELINE_CACHE=$output/pipelines
export DML_PIPELINE_CACHE

machine() {
    date -u
    uname -srm
    grep '^PRETTY_NAME=' /etc/os-release 2>/dev/null
    grep -m 1 '^model name' /proc/cpuinfo 2>/dev/null
    echo "processors: $(getconf _NPROCESSORS_ONLN)"
    grep '^MemTotal' /proc/meminfo 2>/dev/null
    if command -v nvidia-smi >/dev/null 2>&1; then nvidia-smi; fi
    cat "$here/CONTENTS"
}
machine >"$output/machine.txt" 2>&1

"$here/bin/dml" devices >"$output/devices.txt" 2>&1
code=$?
cat "$output/devices.txt"
[ $code -eq 0 ] || exit 3

passed=0
failed=0
incomplete=0
# NAME COMMAND...: runs it, shows and keeps what it prints.
part() {
    name=$1
    shift
    printf '\n=== %s ===\n' "$name"
    start=$(date +%s)
    { "$@" 2>&1; echo $? >"$output/code"; } | tee "$output/$name.txt"
    code=$(cat "$output/code")
    rm "$output/code"
    seconds=$(($(date +%s) - start))
    if [ "$code" -eq 0 ]; then
        passed=$((passed + 1))
        echo "$name: passed in $seconds s" | tee -a "$output/summary.txt"
    elif [ "$name" = conformance ] && [ "$code" -eq 4 ]; then
        incomplete=1
        echo "$name: incomplete after $seconds s: a limit of the device refuses cases" |
            tee -a "$output/summary.txt"
    else
        failed=$((failed + 1))
        echo "$name: FAILED with exit code $code after $seconds s" | tee -a "$output/summary.txt"
    fi
}

"$here/bin/dml" support >"$output/support.txt" 2>&1
# shellcheck disable=SC2086 # empty, or one word
part conformance "$here/bin/dml-conformance" run $validation --feature-level "$levels" \
    --filter "$filter" --device "$device" --format json --output "$output/conformance.json"
if [ -f "$output/conformance.json" ]; then
    part page "$here/bin/dml-conformance" convert "$output/conformance.json" \
        --format html --output "$output/conformance.html"
fi
# shellcheck disable=SC2086 # as above
part benchmark "$here/bin/dml-bench" --device "$device" $quick ${quick:+--filter 'packed/*'} \
    --json "$output/benchmark.json" --markdown "$output/benchmark.md"

rm -rf "$output/pipelines"
archive=$output.tar.gz
tar -C "$(dirname "$output")" -czf "$archive" "$(basename "$output")" || failed=$((failed + 1))
printf '\nreports: %s\n         %s\n\n%s passed, %s failed\n' "$output" "$archive" $passed $failed
[ $failed -eq 0 ] || exit 1
[ $incomplete -eq 0 ] || exit 4
