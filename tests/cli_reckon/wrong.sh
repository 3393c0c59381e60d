#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Wrong inputs: each is answered by one line on standard error that says what is wrong, nothing on
# standard output, exit status 2, and no file.
#
# wrong.golden has the whole messages, which --renew writes: read the difference.
#
#     wrong.sh RECKON [--renew]
set -eu

golden=$(cd "$(dirname "$0")" && pwd)/wrong.golden
renew=${2:-}

reckon=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
count=0

# wrong TEXT ARGUMENT...: the message holds the text.
wrong()
{
    text=$1
    shift
    status=0
    "$reckon" "$@" >out 2>err </dev/null || status=$?
    if [ "$status" -ne 2 ] || [ -s out ] || [ "$(wc -l <err)" -ne 1 ] || [ -e x.png ] ||
        ! grep -qF -- "$text" err; then
        echo "reckon $*: exit status $status, '$text' expected, found:" >&2
        head -5 out err >&2
        exit 1
    fi
    cat err >>messages
    count=$((count + 1))
}

# ---- configurations of DeepSpeed -----------------------------------------------------------------

deepspeed()
{
    printf '%s' "$2" >ds.json
    wrong "ds.json: $1" estimate llama3-8b 8xh100 --deepspeed ds.json
}
deepspeed 'no configuration of DeepSpeed' '{"hidden": 4096}'
deepspeed 'zero_optimization.stage: expected an integer or "auto", found a string "three"' \
    '{"zero_optimization": {"stage": "three"}}'
deepspeed 'optimizer.type: expected Adam, AdamW' \
    '{"train_batch_size": 64, "optimizer": {"type": "Lion"}}'

wrong '--set changes up to 8 numbers of a system' estimate llama3-8b 8xh100 --set 'memory=70GB,hbm=3TB/s,peak=900TFLOP/s,host_memory=1TB,host_link=60GB/s,nvlink.bandwidth=400GB/s,nvlink.latency=2us,infiniband.bandwidth=50GB/s,infiniband.latency=3us'

# ---- files ---------------------------------------------------------------------------------------

: >empty.json
printf '  \n' >blank.json
printf '<!DOCTYPE html>\n<html></html>\n' >page.json
printf '\n  <html></html>\n' >page2.json
printf '\357\273\277{"name": "x"}' >bom.json
printf '\377\376{\000}\000' >utf16.json
printf '{"hidden": Infinity}' >infinity.json
printf '{"hidden": -Infinity}' >minus.json
printf '{"hidden": [1, NaN]}' >nan.json
printf '{"hidden": nan}' >nan2.json
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:0\n' >lfs.json
printf 'PK\003\004zip' >zip.json
printf '%%PDF-1.5\n' >pdf.json
printf '{"hidden": 1e999}' >large.json
printf '[1, 2]' >list.json
printf '{"hidden": 1' >cut.json
: >empty.csv
printf '<html></html>\n' >page.csv
for name in empty blank; do
    wrong 'the file is empty; it must hold a JSON object' \
        estimate --model ./$name.json --system h100-sxm
done
printf '{"zero_optimization": {"stage": 1, "offload_optimizer": {"device": "nvme"}}}' >nvme.json
wrong 'offloads to NVMe with ZeRO-3 alone' estimate llama3-8b 8xh100 --deepspeed nvme.json
wrong 'the file is empty' plan --model llama3-8b --system ./empty.json -p 8 -b 64
wrong 'the file is empty' fit --model llama3-8b --system h100-sxm --stack ./empty.json -p 8 -b 8
wrong 'the file is empty' calculon llm empty.json empty.json empty.json -
for name in page page2; do
    wrong 'is a web page or XML, not JSON; download the file itself' \
        plan --model ./$name.json --system h100-sxm -p 8 -b 64
done
wrong 'byte order mark (BOM); save it as UTF-8 without one' \
    estimate --model ./bom.json --system h100-sxm
wrong 'is in UTF-16; save it as UTF-8' estimate --model ./utf16.json --system h100-sxm
wrong 'infinity.json:1:12: JSON has no number Infinity' \
    estimate --model ./infinity.json --system h100-sxm
wrong 'JSON has no number -Infinity' estimate --model llama3-8b --system ./minus.json
wrong 'JSON has no number NaN' estimate --model ./nan.json --system h100-sxm
wrong 'JSON has no number NaN' estimate --model ./nan2.json --system h100-sxm
wrong 'Git LFS pointer' estimate --model ./lfs.json --system h100-sxm
wrong 'ZIP archive' estimate --model ./zip.json --system h100-sxm
wrong 'PDF document' estimate --model ./pdf.json --system h100-sxm
wrong 'the number 1e999 is too large' estimate --model ./large.json --system h100-sxm
wrong 'expected a JSON object, found an array' estimate --model ./list.json --system h100-sxm
wrong 'cut.json:1:' estimate --model ./cut.json --system h100-sxm
wrong 'none.json' estimate --model ./none.json --system h100-sxm
wrong 'the file is empty' validate --runs empty.csv
wrong 'is a web page or XML, not CSV' validate --runs page.csv

# ---- options that contradict each other ----------------------------------------------------------

run='--model llama3-8b --system h100-sxm -p 8 -b 64'
# wrong_with TEXT OPTION...: options of a strategy.
wrong_with()
{
    text=$1
    shift
    # shellcheck disable=SC2086
    wrong "$text" estimate $run "$@"
}
wrong_with '--sequence-parallel and --no-sp exclude each other' --tp 8 --sequence-parallel --no-sp
wrong_with '--use-distributed-optimizer is --zero 1' --tp 1 --use-distributed-optimizer --zero 3
wrong_with '--hsdp copies shards, and --zero 0 shards nothing' --tp 1 --zero 0 --hsdp 2
wrong_with 'do not split into 3 replicas' --tp 1 --cp 1 --pp 1 --micro-batch 1 --zero 3 \
    --recompute none --hsdp 3
wrong_with '--use-tp-pp-dp-mapping is --order tp-cp-pp-dp' --tp 1 --order tp-cp-dp-pp \
    --use-tp-pp-dp-mapping
wrong_with '--recompute-modules needs --recompute selective' --recompute none \
    --recompute-modules norm
wrong_with '--recompute-modules needs --recompute selective' --recompute full \
    --recompute-modules norm
wrong_with '--recompute-layers needs --recompute full' --recompute selective --recompute-layers 2
wrong_with 'leave out one' --recompute-modules norm --recompute-layers 2
wrong_with '--offload none excludes the other names' --offload none,optimizer
wrong_with '--offload auto searches all sets' --offload auto,optimizer
wrong_with '--schedule needs --pp 2 or more' --pp 1 --schedule interleaved
wrong_with '--sequence-parallel needs --tp 2 or more' --tp 1 --sequence-parallel
wrong_with '--overlap none excludes the other names' --tp 1 --overlap tp,none
wrong_with '--layout names the layers of every stage' --pp 2 --layout 16,16 --first-stage-layers 3
wrong_with '--layout names the layers of every stage' --pp 2 --layout 16,16 --count-head
wrong_with '--layout needs the layers' --pp 2 --layout 16,
wrong_with '--lora-modules needs --lora-rank' --tp 1 --lora-modules attention
wrong_with '--qlora and --frozen-weights need --lora-rank' --tp 1 --frozen-weights int8
wrong_with '--lora-rank is at most the width of a layer, 4096' --tp 1 --lora-rank 70000
wrong_with '--frozen-weights says otherwise' --tp 1 --lora-rank 8 --qlora --frozen-weights int4
wrong_with '--offload-share is of --offload optimizer' --tp 1 --offload-share 0.5
wrong_with '--loss-chunk is of --cross-entropy chunked' --tp 1 --loss-chunk 256
wrong_with 'keeps no gradients to add up' --tp 1 --optimizer-in-backward --accumulation 2
wrong_with 'offload optimizer too' --tp 1 --offload gradients
wrong_with 'runs no pipelines' --framework huggingface --pp 2
wrong_with '--fp8-recipe mxfp8 needs --precision fp8' --tp 1 --fp8-recipe mxfp8
wrong_with '--json and --csv exclude each other' --tp 1 --json --csv
wrong_with '--emit writes a launch file' --tp 1 --emit megatron --json
wrong_with '--max-memory needs a number above 0, not 0' --max-memory 0
wrong_with '--capacity-factor needs a number above 0' --capacity-factor 0
wrong_with '--tp needs a number from 1' --tp 0
wrong_with '--tp needs a whole number' --tp two
wrong_with '--tp needs a whole number' --tp 2.5
wrong_with '--tp needs a whole number' --tp ''
wrong_with '--max-memory needs a number' --max-memory nan
wrong_with '--max-memory needs a number' --max-memory inf
wrong_with '--max-memory needs a number' --max-memory 1e999
wrong_with 'accelerators make dp 1 or a divisor of it, not 4' --tp 8 --dp 4
wrong_with 'accelerators make dp 1, not 4' --tp 8 --zero 1 --micro-batch 1 --recompute none --dp 4
wrong_with 'did you mean --micro-batch' --microbatch 1
wrong_with 'did you mean megatron' --framework megatrno
wrong_with 'not 2B' -p 2B

# ---- files that are not written ------------------------------------------------------------------

# shellcheck disable=SC2086
for command in plan estimate fit timeline; do
    wrong '--output x.png' $command $run -o x.png
done
# shellcheck disable=SC2086
{
    wrong 'a timeline is written as .json (a trace), .csv, .svg or text' timeline $run -o x.png.gz
    wrong 'a timeline is written as' timeline $run -o x.pdf
    wrong 'the answer is written as .html (a report), .json, .csv or text' plan $run -o x.svg
    wrong 'the answer is written as' run $run --tokens 1T -o x.xlsx
    wrong '--json says otherwise' estimate $run --json -o x.csv
    wrong '--csv says otherwise' timeline $run --csv -o x.svg
    wrong 'cannot open for writing' estimate $run --tp 1 -o none/x.json
    wrong '--tokens needs a number' run $run --tokens 300Q
    wrong 'a run needs prices of hours: published' run $run --tokens 1B --prices example
    wrong 'published has prices of hours' design $run -b 64 --prices published
    wrong '--change 0 changes no number' explain $run --change 0
    wrong '--tokens needs a number' run $run --tokens 300Bi
    wrong '--batch-ramp: expected BATCH:TOKENS:STEPS' run $run --tokens 300B --batch-ramp 16
    wrong '--batch-ramp must start below' run $run --tokens 300B --batch-ramp 1:1T
    wrong 'the run does not advance' run --model llama3-8b --system h100-sxm:64 --tokens 1T --deadline 9d --failures 1M
    wrong '--maintenance: expected hours' run $run --tokens 300B --maintenance 8
    wrong 'a maintenance window of' run $run --tokens 300B --maintenance 30:1
    wrong '--slow-devices: expected percent' run $run --tokens 300B --slow-devices 1:0
    wrong 'less than 100 percent' run $run --tokens 300B --slow-devices 100:1
    wrong 'are lost with their nodes' run $run --tokens 300B --checkpoint-tier host
    wrong '15 tokens are less than one step, 524,288 tokens (64 sequences of 8192); did you mean 15T?' run $run --tokens 15
    wrong 'did you mean 300B?' run $run --tokens 300
    wrong '500 k tokens are less than one step' run $run --tokens 500k
    wrong '--steps: 0.5 is less than one step' run $run --steps 0.5
    wrong '--phases: 15 tokens are less than one step' run $run --phases 8k:15
    wrong '--batch-ramp: 250 tokens are less than one step' run $run --tokens 300B --batch-ramp 16:250
    wrong 'did you mean 15T?' run --model llama3-8b --system h100-sxm --tokens 15 --deadline 9d
    for mfu in 0 0% 101 140% -0.4 0.4x 40k; do
        wrong '--mfu needs a share up to 1 or a percentage up to 100' run $run --tokens 300B --mfu $mfu
    done
    wrong 'out of the range of the law chinchilla-refit, which rests on runs of up to 70 B parameters and 1.4 T tokens: with 8.03 B parameters it is valid for losses of 2.066 or more' run $run --loss 1.9
    wrong 'out of the range of the law kaplan' run --model llama3-70b --system h100-sxm --law kaplan --loss 1.9 --deadline 90d
    wrong '--phases: expected at most' run $run --phases 8kx:1T
    wrong 'exclude each other' run $run --phases 8k:1T --batch-ramp 16:1G
    wrong '--storage needs a number above 0' run $run --tokens 300B --storage 0
    wrong '--checkpoint-every needs a number above 0' run $run --tokens 300B --checkpoint-every 0
    wrong '--power needs a number above 0' run $run --tokens 300B --power 0
    wrong '--pue needs a number of 1 or more' run $run --tokens 300B --pue 0.5
    wrong '--top needs a number from 1' plan $run -n 0
    wrong '--bytes needs a whole number such as 64, 4KiB or 2GB' comm --system h100-sxm --bytes 2Q
}

if [ "$renew" ]; then
    cp messages "$golden"
fi
diff "$golden" messages >&2
[ "$count" -ge 100 ] || { echo "only $count wrong inputs" >&2; exit 1; }

# ---- what is right -------------------------------------------------------------------------------

# shellcheck disable=SC2086
{
    "$reckon" run $run --tokens 300B --json >billion.json
    "$reckon" run $run --tokens 300G --json >giga.json
    "$reckon" run $run --tokens 0.3T -o ending.json
    "$reckon" plan $run -n 1 -o ending.csv
}
for file in billion giga ending; do
    grep -q '"tokens": 300000000000' $file.json || { echo "$file.json: tokens" >&2; exit 1; }
done
# Suffixes mean the same in all options.
# shellcheck disable=SC2086
{
    "$reckon" run $run --seq 8k --tokens 300B --csv >plain
    for phases in 8k:300B 8192:300G 8K:0.3T 8Ki:300b:64; do
        "$reckon" run $run --phases $phases --csv | cmp - plain
    done
    "$reckon" run $run --tokens 300B --batch-ramp 16:10B --csv >plain
    "$reckon" run $run --tokens 300B --batch-ramp 16:10G --csv | cmp - plain
}
# shellcheck disable=SC2086
{
    "$reckon" run $run --tokens 300B --mfu 40 --csv >plain
    for mfu in 40% 0.4 4e-1; do
        "$reckon" run $run --tokens 300B --mfu $mfu --csv | cmp - plain
    done
}
head -1 ending.csv | grep -q step_s || { echo "plan -o ending.csv writes no CSV" >&2; exit 1; }
"$reckon" comm --system h100-sxm --bytes 65536 --csv >plain
for size in 64Ki 64KiB 65536B; do
    "$reckon" comm --system h100-sxm --bytes $size --csv | cmp - plain
done
"$reckon" plan --model llama3-8b --system dgx-h100-superpod -p 1024 -b 1024 --tp 1 --bounded \
    -n 1 >out
