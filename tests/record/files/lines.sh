#!/bin/bash
# A comment with 'quotes and "others

GPUS=8
ARGS="--num-layers 12 \
  --hidden-size 768
  --num-attention-heads 12"
MORE=(
  --seq-length 2048   # the length
  --micro-batch-size 2

  --global-batch-size 64
)
cat <<EOF > conf
lines of 'a' document
  that is "not" run $(
EOF
cat <<-'END'
	quoted $GPUS
	END
if [ "$GPUS" -gt 4 ]; then
  EXTRA="--bf16"
fi
case $GPUS in
  8) EXTRA="$EXTRA --vocab-size 50304" ;;
  *) ;;
esac
for x in 1 2; do
  echo "$x
more"
done
torchrun --nproc_per_node $GPUS pretrain_gpt.py $ARGS "${MORE[@]}" $EXTRA
