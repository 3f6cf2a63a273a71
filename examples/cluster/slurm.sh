#!/bin/bash
#SBATCH --nodes=4 --ntasks-per-node=1 --exclusive --time=04:00:00
# A Ray cluster of one Slurm job: one task a node; the first node is the head and runs application.py.
# The environment is on a file system that all nodes see. Not run yet.
source "$HOME/venv/bin/activate"
export RAY_AUTH_MODE=token RAY_AUTH_TOKEN=$(openssl rand -hex 32) RAY_USAGE_STATS_ENABLED=0

nodes=($(scontrol show hostnames "$SLURM_JOB_NODELIST"))
head=$(srun --nodes=1 --ntasks=1 -w "${nodes[0]}" hostname --ip-address | cut -d' ' -f1)

srun --overlap --nodes=1 --ntasks=1 -w "${nodes[0]}" \
    ray start --head --node-ip-address="$head" --port=6379 --num-cpus=0 --include-dashboard=false --block &
until srun --overlap --nodes=1 --ntasks=1 -w "${nodes[0]}" ray health-check --address "$head:6379"; do sleep 2; done
srun --overlap --nodes=$((SLURM_NNODES - 1)) --ntasks-per-node=1 --exclude="${nodes[0]}" \
    ray start --address="$head:6379" --block &

RAY_ADDRESS="$head:6379" srun --overlap --nodes=1 --ntasks=1 -w "${nodes[0]}" python application.py
