python3 -m maxtext.trainers.pre_train.train my_config.yml steps=10
