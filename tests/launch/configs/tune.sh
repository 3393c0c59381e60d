tune run --nproc_per_node 4 lora_finetune_distributed --config ./lora.yaml --made-up batch_size=8 model.use_dora=True
