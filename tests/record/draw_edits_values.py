# SPDX-License-Identifier: Apache-2.0
"""What draw_edits.py draws from: (file, share, commands that read it), requests, words."""

JOB = "llama3-8b 16xh100 -b 64 --tp 2 --pp 2 --cp 1 --micro-batch 1 --zero 1"
ON = "llama3-8b {} 16 -b 64 --tp 2 --pp 1 --cp 1 --micro-batch 1 --zero 1"
ESTIMATE = "estimate llama3-8b 16xh100 -b 64 --tp 2 --pp 2 --cp 1 --micro-batch 1 --zero 1 --recompute none"


def of_model(name):
    return [f"show {name}", f"estimate {name} 16xh100 -b 64 --tp 2 --pp 1 --cp 1 --micro-batch 1 --zero 1 --json",
            f"estimate {name} 16xh100 -b 64 --tp 1 --pp 2 --cp 1 --micro-batch 1 --zero 1 --recompute full --operators --csv",
            f"fit {name} 16xh100 -b 64 --tp 2 --pp 1 --cp 1 --micro-batch 1 --zero 1 --json",
            f"estimate {name} 16xh100 -b 64 --tp 2 --pp 1 --cp 2 --micro-batch 2 --zero 1"]


def of_system(name):
    return [f"show {name}",
            f"estimate llama3-8b --system {name} -p 16 -b 64 --tp 2 --pp 1 --cp 1 --micro-batch 1 --zero 1 --json",
            f"comm --system {name} --ranks 16 --bytes 1Ki,1Gi --explain",
            f"comm all-reduce,all-to-all --system {name} --ranks 8 --bytes 64Mi --algorithm all --json",
            f"timeline llama3-8b --system {name} -p 16 -b 64 --tp 2 --pp 2 --cp 1 --micro-batch 1 --zero 1 --json"]


SWEEP = ["sweep {}", "sweep {}", "sweep {} --dry-run", "sweep {} --sqlite x.db", "sweep {} -o x.csv",
         "sweep {} --sqlite x.db ;; sweep {} --sqlite x.db --resume", "sweep {} --pareto time,memory",
         "sweep {} -o x.csv ;; plot figure.json x.csv"]


def of_grid(name):
    return [command.format(name, name) for command in SWEEP]


COMMANDS = [
    ("e_grid.json", 26, of_grid("e_grid.json")),
    ("e_cal.json", 18, of_grid("e_cal.json")),
    ("e_db.json", 5, ["sweep e_cal.json --sqlite x.db ;; plot e_db.json", "sweep grid_calculon.json --sqlite x.db ;; plot e_db.json -o x.svg"]),
    ("grid_calculon.json", 4, ["sweep e_cal.json --sqlite x.db ;; sweep grid_calculon.json --sqlite x.db --resume",
                               "sweep grid_calculon.json --sqlite x.db ;; sweep grid_calculon.json --sqlite x.db",
                               "sweep grid_calculon.json --dry-run"]),
    ("grid_plan.json", 3, of_grid("grid_plan.json")),
    ("e_page.json", 34, ["plot e_page.json -o x.html", "plot e_page.json -o x.md", "plot e_page.json -o x.html",
                         "plot e_page.json --figure lines -o x.svg", "plot e_page.json rows.csv -o x.html"]),
    ("figures.json", 10, ["validate --runs runs.csv --figures figures.json",
                          "validate --runs e_runs.csv,runs.csv --figures figures.json --json"]),
    ("e_mla.json", 8, of_model("e_mla.json")),
    ("dense.json", 6, of_model("dense.json")),
    ("hf_dbrx.json", 6, of_model("hf_dbrx.json")),
    ("hf_gemma.json", 6, of_model("hf_gemma.json")),
    ("side_links.json", 12, of_system("side_links.json")),
    ("cluster.json", 8, of_system("cluster.json")),
    ("a100-sxm-80gb.json", 12, ["show a100-sxm-80gb.json", *of_system("a100-sxm-80gb.json")]),
    ("e_stack.json", 10, ["show e_stack.json", ESTIMATE + " --stack e_stack.json --json",
                          ESTIMATE + " --stack e_stack.json --overlap none --explain"]),
    ("e_rel.json", 8, [f"run {JOB} --tokens 10B --simulate 3 --reliability e_rel.json --json",
                       f"run {JOB} --tokens 10B --reliability e_rel.json"]),
    ("e_storage.json", 8, [f"run {JOB} --tokens 10B --storage-tiers e_storage.json --compare-tiers",
                           f"run {JOB} --tokens 10B --storage-tiers e_storage.json --checkpoint-tier nvme --near-checkpoint host --json"]),
    ("e_hours.json", 8, [f"run {JOB} --tokens 10B --prices e_hours.json --json",
                         f"run {JOB} --steps 100 --prices e_hours.json"]),
    ("e_law.json", 6, [f"run {JOB} --loss 2.1 --law e_law.json --json", f"run {JOB} --tokens 1B --law e_law.json"]),
    ("prices.json", 6, [f"design {JOB.replace('16xh100', 'h100').replace('--pp 2', '--pp 1')} --prices prices.json --json"]),
    ("prices_net.json", 6, ["design llama3-8b h100 -b 64 --tp 2 --pp 1 --cp 1 --micro-batch 1 --zero 1 --prices prices_net.json"]),
    ("prices_calculon.json", 4, ["design --method calculon --model megatron-126M --system a100_80g -b 4 --prices prices_calculon.json --json"]),
    ("recipe.json", 10, ["calibrate recipe.json --quick", "calibrate recipe.json --quick --json",
                         "calibrate recipe.json --rows x.csv"]),
    ("recipe_one.json", 6, ["calibrate recipe_one.json", "calibrate recipe_one.json --quick --write",
                            "calibrate recipe_one.json --json"]),
    ("app.json", 5, ["calculon llm app.json exe.json sys.json -", "show app.json"]),
    ("exe.json", 7, ["calculon llm app.json exe.json sys.json -", "calculon llm app.json exe.json sys.json x.json"]),
    ("sys.json", 7, ["calculon llm app.json exe.json sys.json -", "calculon llm app.json exe.json sys.json x.csv -l"]),
    ("residuals.json", 5, [f"{ESTIMATE} --residuals residuals.json --json", "validate --runs runs.csv --intervals residuals.json"]),
    ("ds_zero3.json", 8, ["convert ds_zero3.json", "estimate llama3-8b 16xa100 -b 64 --deepspeed-config ds_zero3.json --json",
                          "convert ds_zero3.json --json"]),
    ("ds_zero2.json", 4, ["estimate llama3-8b 16xa100 -b 64 --micro-batch 1 --deepspeed-config ds_zero2.json --json"]),
]

VALIDATE = ["validate --runs {}", "validate --runs {} --json", "validate --runs {} --rows", "validate --runs {} --csv",
            "validate --runs {} --json --options whole", "validate --runs {} --json --options stated",
            "validate --runs {} --by source --split check", "validate --runs {} --by model,accelerator --only llama -v",
            "validate --runs {} --by kind,tensor --json", "validate --runs {} --by nodes", "validate --runs {} --by memory",
            "validate --runs {} --plot x.svg", "validate --runs {} --residuals x.json", "validate --runs {} --memory-residuals x.json",
            "validate --runs {} --figures figures.json", "validate --runs {} --only a1 --rows --csv", "validate --runs {} -o x.html",
            "validate --runs {} --by schedule,precision -v"]
TABLES = [
    ("e_runs.csv", 52, [c.format("e_runs.csv") for c in VALIDATE]),
    ("no_ids.csv", 10, [c.format("no_ids.csv") for c in VALIDATE]),
    ("e_table.csv", 14, ["plot e_page.json -o x.html", "plot e_page.json -o x.md", "plot figure.json e_table.csv"]),
    ("gemm.csv", 10, ["calibrate recipe.json --quick --json", "calibrate recipe_one.json --rows x.csv"]),
]

PLAIN = [(name, share, [f"convert {name}", f"convert {name} --json", f"estimate --from {name} {system} --json"])
         for name, share, system in (
             ("e_pipeline.toml", 9, "64xh100"), ("e_stages.toml", 6, "64xh100"), ("e_lora.yaml", 9, "h100"),
             ("e_nano.yaml", 9, "16xh100"), ("e_foundry.yaml", 8, "16xa100"), ("e_peft.yaml", 7, "8xh100"),
             ("e_turbo.yaml", 7, "8xh100"), ("e_olmo.json", 7, "64xh100"), ("e_tokens.json", 7, "16xh100"),
             ("e_mesh.sh", 8, "128xh100"), ("pretrain.sh", 9, "64xh100"))]
PLAIN += [("nccl.txt", 10, ["comm --system h100 --fit nccl.txt", "comm --system h100 --fit nccl.txt --json",
                            "comm --system dgx-h100-superpod --fit nccl.txt --domains 4"])]

# A request in a file, the command, the share, and the method.
OPTIONS = [
    ("e_step.json", "estimate", 22, None), ("e_moe.json", "estimate", 14, None), ("e_step.json", "fit", 12, None),
    ("e_moe.json", "fit", 6, None), ("e_step.json", "plan", 16, None), ("e_run.json", "run", 30, None),
    ("e_step.json", "timeline", 14, None), ("e_step.json", "explain", 8, None), ("e_shape.json", "shape", 10, None),
    ("e_design.json", "design", 10, None), ("e_comm.json", "comm", 28, None), ("e_validate.json", "validate", 16, None),
    ("e_megatron.json", "plan", 8, "calculon"), ("e_megatron.json", "explain", 5, "calculon"),
    ("e_billion.json", "shape", 5, "calculon"), ("e_convert.json", "convert", 4, None),
]

# Model types of Hugging Face.
HF = ("bloom chatglm cohere deepseek_v3 deepseek_v32 deepseek_v4 falcon gemma3 gemma4 glm4_moe gpt2 gpt_oss hunyuan "
      "jamba lfm2 llama4 longcat_flash mimo_v2_flash minimax_text_01 mpt nemotron_h opt qwen2_moe qwen3_5_moe "
      "qwen3_next zamba2").split()
COMMANDS += [(f"hf_{name}.json", 5, [
    f"show hf_{name}.json", f"show hf_{name}.json --json",
    f"estimate hf_{name}.json 64xh100 -b 64 --tp 2 --pp 1 --cp 1 --micro-batch 1 --zero 1 --json",
    f"estimate hf_{name}.json 64xh100 -b 64 --tp 1 --pp 2 --micro-batch 1 --zero 1 --operators --csv"]) for name in HF]

# What breaks, or is, a text of JSON, YAML, TOML or the shell.
SPECIAL = ['"', "'", "[", "]", "{", "}", ":", ": ", "- ", "#", " #", "&a 1", "*a", "|", ">", "!!int 2", "~", "0x1f",
           "0o17", "1e3", ".5", "1_000", "+1", ".inf", '"\\u00e9"', "'a'", "1979-05-27", "\t", "\\", "{a = 1}",
           "[1, 2]", "[[x]]", "null", "$X", "${X:-2}", "$(echo 3)", "$((2*2))", "`x`", ";", "&&", "00", "-0", "1.", ","]

COMMAND = "{|plan|estimate|fit|run|timeline|comm|explain|design|shape|sweep|plot|validate|calibrate|convert|list|show|calculon|explore|help|version|x|}"
OPTION = "{|--|--m|--mo|--model|--s|--sy|--tp|--c|--cp|--r|--re|--json|--by|--o|--output|-|-o|--z|--precision|--recompute|--schedule|--framework|--stack|--split|--algorithm|}"
NAME = "{|llama3-8b|llama3|h100|h100-sxm|dgx-h100-superpod|gpt3-175B|a100_80g|megatron-2025|nosuch|dense.json|no.json|4xh100|0xh100|-1xh100|1x|xh100|8xdgx-h100|64|h100:8|}"
WORDS = (70, [
    f"__complete {COMMAND} {OPTION}", f"__complete {COMMAND} {OPTION} {OPTION}", f"__complete {COMMAND} {NAME} {OPTION}",
    f"__complete {COMMAND} {OPTION} {NAME}", "__complete {|p|e|l|s|c|d||v|h|}", f"help {COMMAND}", f"{COMMAND} --help",
    f"{COMMAND} --help-all", f"{COMMAND}", f"{COMMAND} {OPTION}", f"{COMMAND} {NAME}", f"{COMMAND} {NAME} {NAME}",
    f"{COMMAND} {OPTION} {NAME}", f"{COMMAND} {NAME} {NAME} -b {{|0|1|7|64|-1|x||1e9|2.5|}}", "help --all",
    f"list {{|models|systems|accelerators|stacks|calculon-models|calculon-systems|runs|aliases|model||x|models systems|}} {{||--json|-o x.txt|--csv|}}",
    f"show {NAME}", f"show {NAME} --json", f"show {NAME} {NAME}", f"show {NAME} -o x.txt",
    "calculon {|llm|lae|loe|loe2|lpc|lv|--version|-h|ls||x|} {|app.json|megatron-126M|nosuch||} {|exe.json|2|0|} {|sys.json|4|a100_80g|} {|-|float16|x.json|x|}",
    "calculon loe megatron-126M {|1|2|4|0|3|} {|4|1|8|0|} {|float16|float8|float32|x|} a100_80g {|x.json|x.csv|-|} {|-t 1|-t 2 -c 1|-c 0|--debug|-m|-n|-f both|-f x|}",
    "calculon lpc {|megatron-126M|gpt3-175B|app.json|x|}",
    "comm {|all-reduce|all-gather|send|reduce,gather|x||} --system {|h100|a100|tpu-v5e|dgx-h100-superpod|selene|gb200-nvl72-pod|mi300x|} --ranks {|1|2|3|8|9|16|0|64|} --bytes {|1|0|1Ki|1Mi..8Mi|8Mi..1Mi|1Ki,2Ki,1Ki|1Gi|} {||--json|--csv|--explain|--stride 2|--algorithm all|--algorithm ring|--chunks 2|--imbalance 1.5|--sharing 2|--placement 2,2|--placement 3,1,4|--servers 2|--with all-gather|}",
    "estimate {|llama3-8b|qwen3-30b-a3b|deepseek-v2-lite|llama2-7b|} {|8|16|12|1|64|}x{|h100|a100|tpu-v5p|mi300x|dgx-h100-superpod|} -b {|1|8|24|64|63|512|} --tp {|1|2|3|8|16|} --pp {|1|2|4|5|} {||--cp 2|--ep 8|--vp 2|--schedule gpipe|--schedule zb-h1|} --micro-batch {|1|2|3|} --zero {|0|1|2|3|} {||--json|--explain|--csv|--operators|-o x.html|--emit megatron|--emit deepspeed|--emit torchtitan|}",
    "timeline llama3-8b 16xh100 -b {|2|8|32|} --tp {|1|2|} --pp {|1|2|4|8|} --micro-batch {|1|2|} {||--vp 2|--schedule gpipe|--schedule zb-h1|--schedule zb-v|--schedule dualpipe|--schedule v-half|--schedule zb-h2|--schedule v-min|} {||--json|--csv|-o x.svg|-o x.json|-o x.html|}",
    "run llama3-8b 16xh100 -b 64 --tp 2 --pp 1 --micro-batch 1 --zero 1 {|--tokens 1B|--tokens 1T|--steps 1|--steps 1000|--loss 2|--loss 3|--days 1|--tokens 0|} {||--simulate 1|--simulate 2|--simulate 5|} {||--failures 0|--failures 1|--failures 100|--failures 1e6|} {||--storage 1|--storage 0.001|--checkpoint-every 1|--checkpoint-every 1e6|--spares 1|--restart 0|--price 2|--prices published|--maintenance 4:30|--maintenance 0:1|--stragglers 1|--phases 4k:1B,8k:2B|--ramp 8:1B|--carbon 400|} {||--json|}",
    "plan {|llama3-8b|qwen3-30b-a3b|} 8xh100 -b {|8|16|9|} --tp {|1|2|1,2|} --zero 1 --micro-batch {|1|1,2|} {||-n 1|-n 3|-n 0|--json|--csv|--bounded|--nearest|--rank-by memory|-v|-o x.html|--emit megatron|--max-memory 40|--max-memory 79.5|}",
])
