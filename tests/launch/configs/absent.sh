tune run full_finetune_single_device --config llama3_2/1B_full_single_device
