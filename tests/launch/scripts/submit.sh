#!/bin/bash
# jobs that are submitted as a text: with "=" or as a word, with one in it, behind other options
sbatch --nodes=2 --wrap="torchrun a.py --x=1"
sbatch --nodes=2 --wrap "torchrun b.py c=d"
sbatch -N 2 --wrap='torchrun c.py'
sbatch --wrap
sbatch <<'END'
#!/bin/bash
torchrun d.py
END
