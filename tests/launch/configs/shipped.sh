python3 -m maxtext.trainers.pre_train.train configs/gpu/models/mixtral_8x1b.yml per_device_batch_size=4
