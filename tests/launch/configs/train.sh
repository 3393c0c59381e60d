NGPU=8 CONFIG_FILE="./pipeline.toml" ./run_train.sh --parallelism.pipeline_parallel_degree 1 --training.local_batch_size 2
