/* SPDX-License-Identifier: Apache-2.0 */
/* The program of a launch line, and the machine that its launchers name. */
#include "launch/launch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    const char *line, *program;
    int64_t nodes, node, all; /* 0: open */
} lines[] = {
    {"torchrun --nproc_per_node 8 train.py --x 1", "train.py", 1, 8, 0},
    {"torchrun --nnodes=2 --nproc-per-node=4 --rdzv_id 3 -m pkg.train --y", "pkg.train", 2, 4, 0},
    {"torchrun --nnodes 1:4 --nproc_per_node 8 --standalone train.py", "train.py", 4, 8, 0},
    {"torchrun --nnodes $NODES --nproc_per_node 8 train.py", "train.py", 0, 8, 0},
    {"torchrun --nnodes $(cat n) --nproc_per_node 8 train.py", "train.py", 0, 8, 0},
    {"torchrun --nproc_per_node gpu train.py", "train.py", 0, 0, 0},
    {"python -u -m torch.distributed.run --nproc_per_node=8 train.py", "train.py", 1, 8, 0},
    {"python3 -m torch.distributed.launch --use_env --nproc_per_node 2 a/b.py", "b.py", 1, 2, 0},
    {"srun -N 4 --ntasks-per-node=1 torchrun --nproc_per_node 8 --nnodes 4 t.py", "t.py", 4, 8, 0},
    {"srun --nodes 4 --gpus-per-node=8 python t.py", "t.py", 4, 8, 0},
    {"srun -n 32 --ntasks-per-node 8 python t.py", "t.py", 0, 8, 32},
    {"srun --gres=gpu:a100:4 -N2 python t.py", "t.py", 2, 4, 0},
    {"mpirun -np 16 --map-by ppr:8:node -x A=b python t.py", "t.py", 0, 8, 16},
    {"mpirun -H a:8,b:8 python3 t.py", "t.py", 2, 8, 0},
    {"mpirun --host a,b,c -N 4 python3 t.py", "t.py", 3, 4, 0},
    {"mpirun -np 8 --map-by ppr:x:node python3 t.py", "t.py", 0, 0, 8},
    {"mpirun -np 8 --map-by ppr:1234567890:node python3 t.py", "t.py", 0, 0, 8},
    {"mpirun -np 8 --map-by slot python3 t.py", "t.py", 0, 0, 8},
    {"srun --gres=nic:2 -N2 python t.py", "t.py", 2, 0, 0},
    {"srun --gpus-per-node=8 --ntasks-per-node=1 -N2 python t.py", "t.py", 2, 8, 0},
    {"srun --ntasks-per-node=8 --gpus-per-node=2 -N2 python t.py", "t.py", 2, 8, 0},
    {"srun -n 4 -G 16 python t.py", "t.py", 0, 0, 16},
    {"srun -G 16 -n 4 python t.py", "t.py", 0, 0, 16},
    {"#SBATCH -N2 -n16\nsrun -n8 python t.py", "t.py", 2, 0, 8},
    {"#SBATCH -n16 -N2\nsrun python t.py", "t.py", 2, 0, 16},
    {"#SBATCH --nodes=2 --gpus-per-node=4 # --nodes=3\nsrun python t.py", "t.py", 2, 4, 0},
    {"composer -n4 train.py x.yaml", "train.py", 0, 4, 0},
    {"srun -N -n 4 python t.py", "t.py", 0, 0, 4},
    {"deepspeed --include a:0,1@b:0,1@c:0,1 t.py", "t.py", 3, 2, 0},
    {"deepspeed --include worker t.py", "t.py", 0, 0, 0},
    {"deepspeed --include=a:0,1,2,3 t.py", "t.py", 1, 4, 0},
    {"printf 'a slots=8\n# c slots=2\n b slots=8\n\n' > h\ndeepspeed --hostfile h t.py", "t.py", 2,
     8, 0},
    {"printf 'a\nb\nc\n' > h\nmpirun -machinefile h -N 4 python t.py", "t.py", 3, 4, 0},
    {"printf 'a slots=4\nb slots=4\n' > h\nmpirun --hostfile h python t.py", "t.py", 2, 4, 0},
    {"printf 'a slots=-1\nb\n' > h\ndeepspeed --hostfile=h t.py", "t.py", 2, 0, 0},
    {"printf 'a slots=4\nb slots=4\n' > h\ndeepspeed --hostfile h --num_gpus 2 t.py", "t.py", 2, 2,
     0},
    {"deepspeed --hostfile none --num_gpus 2 t.py", "t.py", 0, 2, 0},
    {"NPROC_PER_NODE=1 CUDA_VISIBLE_DEVICES=0,1 swift sft --model m", "swift", 1, 1, 0},
    {"NPROC_PER_NODE=0 CUDA_VISIBLE_DEVICES=0,1 swift sft --model m", "swift", 1, 2, 0},
    {"deepspeed --num_nodes 2 --num_gpus 8 t.py --deepspeed ds.json", "t.py", 2, 8, 0},
    {"deepspeed --include localhost:0,1,2 t.py", "t.py", 1, 3, 0},
    {"deepspeed --num_gpus=4 --master_port 3 --module pkg.train", "pkg.train", 1, 4, 0},
    {"accelerate launch --num_processes 16 --num_machines 2 t.py", "t.py", 2, 0, 16},
    {"accelerate launch --multi_gpu --config_file a.yaml -m axolotl.cli.train x.yml",
     "axolotl.cli.train", 0, 0, 0},
    {"NPROC_PER_NODE=4 NNODES=2 swift sft --model m", "swift", 2, 4, 0},
    {"CUDA_VISIBLE_DEVICES=0,1 llamafactory-cli train x.yaml", "llamafactory-cli", 1, 2, 0},
    {"composer -n 8 train.py x.yaml", "train.py", 0, 8, 0},
    {"nohup time torchrun --nproc_per_node 8 train.py", "train.py", 1, 8, 0},
    {"sudo docker run --gpus all image torchrun --nproc_per_node 8 t.py", "t.py", 1, 8, 0},
    {"python setup.py install && python train.py --num_gpus 3", "train.py", 0, 0, 0},
    {"python tools/preprocess_data.py --a; torchrun --nproc_per_node 8 pretrain.py", "pretrain.py",
     1, 8, 0},
    {"#SBATCH --nodes=2\n#SBATCH --gpus-per-node=8\nsrun python t.py", "t.py", 2, 8, 0},
    {"#SBATCH --gpus-per-node=h100:4\ntorchrun --nproc_per_node $SLURM_GPUS_ON_NODE t.py", "t.py",
     1, 4, 0},
    {"#SBATCH --ntasks-per-node=2\ntorchrun --nproc_per_node $SLURM_NTASKS_PER_NODE t.py", "t.py",
     1, 2, 0},
    {"#SBATCH -G a100:16\ntorchrun --nproc_per_node $SLURM_GPUS t.py", "t.py", 1, 16, 16},
    {"#SBATCH -n 8\ntorchrun --nproc_per_node $SLURM_NPROCS t.py", "t.py", 1, 8, 8},
    {"#SBATCH -N 2\nsrun bash -c \"torchrun --nnodes $SLURM_NNODES --nproc_per_node 4 t.py\"",
     "t.py", 2, 4, 0},
    {"srun -N 2 bash -c \"numactl -N 0 sh -c 'torchrun --nproc_per_node 4 t.py'\"", "t.py", 2, 4,
     0},
    {"--tensor-model-parallel-size 2 --bf16", "", 0, 0, 0},
    {"torchrun --nproc_per_node 4 train.py --bf16\npython eval.py --bf16", "train.py", 1, 4, 0},
};

static void test_lines(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        rk_launch launch = {0};
        rk_error err;
        if (rk_launch_parse(lines[i].line, strlen(lines[i].line), "line.sh", &launch, &err)) {
            fail_msg("%s: %s", lines[i].line, err.message);
        }
        const int64_t nodes = rk_launch_count_of(&launch, "nodes");
        const int64_t node = rk_launch_count_of(&launch, "gpus_per_node");
        const int64_t all = rk_launch_count_of(&launch, "processes");
        if (strcmp(rk_launch_program(&launch), lines[i].program) != 0 || nodes != lines[i].nodes ||
            node != lines[i].node || all != lines[i].all) {
            fail_msg("%s: %s, %d nodes of %d, %d in all", lines[i].line, rk_launch_program(&launch),
                     (int)nodes, (int)node, (int)all);
        }
        rk_launch_clear(&launch);
    }
}

/* A bare word behind an option that takes no value is the program. */
static void test_switches(void **state)
{
    static const char *const switches[] = {"standalone",
                                           "no-python",
                                           "use-env",
                                           "multi-gpu",
                                           "use-deepspeed",
                                           "use-fsdp",
                                           "use-megatron-lm",
                                           "cpu",
                                           "mps",
                                           "same-network",
                                           "no-local-rank",
                                           "force-multi",
                                           "no-ssh",
                                           "no-ssh-check",
                                           "save-pid",
                                           "enable-elastic-training",
                                           "debug",
                                           "tpu",
                                           "quiet",
                                           "dynamo-use-dynamic",
                                           "enable-numa-binding",
                                           "no-color"};
    (void)state;
    for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]); i++) {
        char line[96];
        rk_launch launch = {0};
        rk_error err;
        (void)snprintf(line, sizeof(line), "torchrun --%s tool --x 1", switches[i]);
        assert_int_equal(rk_launch_parse(line, strlen(line), "line.sh", &launch, &err), RK_OK);
        if (strcmp(rk_launch_program(&launch), "tool") != 0) {
            fail_msg("%s: %s", line, rk_launch_program(&launch));
        }
        rk_launch_clear(&launch);
    }
}

/* Variables that set PyTorch's allocator, before the command or exported. */
static void test_allocator(void **state)
{
    (void)state;
    static const struct {
        const char *text, *fact;
    } settings[] = {
        {"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True torchrun t.py", "true"},
        {"export PYTORCH_ALLOC_CONF=max_split_size_mb:64,expandable_segments:true\ntorchrun t.py\n",
         "true"},
        {"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:False torchrun t.py", "false"},
        {"PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64 torchrun t.py", NULL},
    };
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
        rk_launch launch = {0};
        rk_error err;
        assert_int_equal(
            rk_launch_parse(settings[i].text, strlen(settings[i].text), "x.sh", &launch, &err),
            RK_OK);
        const char *fact = rk_launch_fact_of(&launch, "expandable_segments");
        if (settings[i].fact) {
            assert_non_null(fact);
            assert_string_equal(fact, settings[i].fact);
        } else {
            assert_null(fact);
        }
        rk_launch_clear(&launch);
    }
}

static void test_nothing_is_started(void **state)
{
    (void)state;
    rk_launch launch = {0};
    rk_error err;
    const char text[] = "echo hello\nmkdir -p x\n";
    assert_int_equal(rk_launch_parse(text, strlen(text), "x.sh", &launch, &err), RK_ERR_INVALID);
    assert_non_null(strstr(err.message, "no command of it starts a program"));
    rk_launch_clear(&launch);
}

/* A path with words for its script, a line of its own, and a folder that a line begins with. */
static void test_paths(void **state)
{
    static const struct {
        const char *text; /* behind the name of the folder */
        const char *name, *program;
        int64_t node;
    } rows[] = {
        {"/run.sh 4", "/run.sh", "t.py", 4},
        {"/run.sh 2 --x", "/run.sh", "t.py", 2},
        {"/run.sh", "/run.sh", "t.py", 0},
        {"/torchrun --nproc_per_node 8 a.py", NULL, "a.py", 8},
        {" --nproc_per_node 8 torchrun --nproc_per_node 2 c.py", NULL, "c.py", 2},
        {"/run.sh 4\ntorchrun --nproc_per_node 2 b.py", NULL, "t.py", 4},
    };
    char folder[] = "/tmp/launcher-XXXXXX", path[64], text[256];
    (void)state;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/run.sh", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs("torchrun --nproc_per_node $1 t.py\n", file) >= 0);
    assert_int_equal(fclose(file), 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        rk_launch launch;
        rk_error err = {0};
        (void)snprintf(text, sizeof(text), "%s%s", folder, rows[i].text);
        if (rk_launch_load(text, &launch, &err)) {
            fail_msg("%s: %s", text, err.message);
        }
        (void)snprintf(path, sizeof(path), "%s%s", folder, rows[i].name ? rows[i].name : "");
        assert_string_equal(launch.name, rows[i].name ? path : "the line");
        assert_string_equal(launch.folder, rows[i].name ? folder : ".");
        assert_string_equal(rk_launch_program(&launch), rows[i].program);
        assert_int_equal(rk_launch_count_of(&launch, "gpus_per_node"), rows[i].node);
        rk_launch_clear(&launch);
    }
    rk_launch launch;
    rk_error err = {0};
    assert_int_equal(rk_launch_load("/no/such/run.sh 4", &launch, &err), RK_ERR_IO);
    assert_non_null(strstr(err.message, "/no/such/run.sh"));
    rk_launch_clear(&launch);
    (void)snprintf(path, sizeof(path), "%s/run.sh", folder);
    assert_int_equal(remove(path) | remove(folder), 0);
}

/* A configuration that the script writes is the one that its program opens. */
static void test_written_file(void **state)
{
    (void)state;
    rk_launch launch = {0};
    rk_error err;
    bool found = false;
    const char text[] = "S=3\ncat <<EOF > /tmp/a.json\n{\"stage\": $S}\nEOF\n"
                        "deepspeed --num_gpus 2 t.py --deepspeed_config /tmp/a.json\n";
    assert_int_equal(rk_launch_parse(text, strlen(text), "x.sh", &launch, &err), RK_OK);
    assert_int_equal(rk_launch_open_named(&launch, "/tmp/a.json", &found, &err), RK_OK);
    assert_true(found);
    const json_t *root = rk_launch_document_of(&launch, "/tmp/a.json");
    assert_int_equal(json_integer_value(json_object_get(root, "stage")), 3);
    assert_int_equal(rk_launch_open_named(&launch, "/tmp/b.json", &found, &err), RK_OK);
    assert_false(found);
    rk_launch_clear(&launch);
}

/* The word that ends a text in a script has up to 63 letters. */
static void test_ends_of_texts(void **state)
{
    (void)state;
    for (int length = 1; length < 64; length++) {
        char text[512], word[64];
        rk_launch launch = {0};
        rk_error err;
        bool found = false;
        memset(word, 'E', sizeof(word));
        word[length] = '\0';
        (void)snprintf(text, sizeof(text),
                       "cat <<%s > /tmp/a.json\n{\"stage\":\n3}\n%s\n"
                       "deepspeed --num_gpus 2 t.py --deepspeed_config /tmp/a.json\n",
                       word, word);
        assert_int_equal(rk_launch_parse(text, strlen(text), "x.sh", &launch, &err), RK_OK);
        assert_int_equal(rk_launch_open_named(&launch, "/tmp/a.json", &found, &err), RK_OK);
        assert_true(found);
        const json_t *root = rk_launch_document_of(&launch, "/tmp/a.json");
        assert_int_equal(json_integer_value(json_object_get(root, "stage")), 3);
        rk_launch_clear(&launch);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_lines),
                                       cmocka_unit_test(test_switches),
                                       cmocka_unit_test(test_nothing_is_started),
                                       cmocka_unit_test(test_allocator),
                                       cmocka_unit_test(test_written_file),
                                       cmocka_unit_test(test_ends_of_texts),
                                       cmocka_unit_test(test_paths)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
