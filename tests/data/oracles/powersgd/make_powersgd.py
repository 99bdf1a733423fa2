#!/usr/bin/env python3
"""Writes oracle.json next to it: gradients that powerSGD_hook of torch.distributed sends (README.md in this folder).

usage: make_powersgd.py, where torch can be imported (scripts/setup_peers.sh)
"""

import json
import tempfile
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as powersgd
from torch.nn.parallel import DistributedDataParallel

HERE = Path(__file__).resolve().parent
SHAPES = {"conv.weight": [24, 16, 3, 3], "conv.bias": [24], "hidden.weight": [40, 216], "hidden.bias": [40],
          "out.weight": [10, 40], "out.bias": [10]}
ROWS, STEPS, START, RATE = 12, 12, 2, 0.005


def made(sizes, salt):
    """The same numbers as made() of tests/unit/dist/PowerSgd.test.cpp."""
    count = torch.Size(sizes).numel()
    return (0.2 * torch.sin(torch.arange(count, dtype=torch.float64) * (0.7 + 0.01 * salt) + salt)).view(sizes)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.values = torch.nn.ParameterList(made(sizes, salt) for salt, sizes in enumerate(SHAPES.values(), 1))

    def forward(self, x):
        w = self.values
        y = torch.tanh(torch.conv2d(x, w[0], w[1])).flatten(1)
        y = torch.tanh(torch.nn.functional.linear(y, w[2], w[3]))
        return torch.nn.functional.linear(y, w[4], w[5])


def with_initial_q(state, numbers):
    """The hook, which begins with the Q of initial_q() in modules/dist/PowerSgd.cpp instead of its own numbers."""
    def hook(state, bucket):
        if state.iter >= START and bucket.index() not in state.q_memory_dict:
            num_p, qs = 0, []
            for parameter in bucket.parameters():
                n, m = parameter.shape[0], parameter.numel() // parameter.shape[0]
                r = min(n, m, state.matrix_approximation_rank)
                if (n + m) * r * state.min_compression_rate < n * m:
                    generator = torch.Generator().manual_seed(numbers[parameter])
                    qs.append(torch.randn([*parameter.shape[1:], r], generator=generator, dtype=parameter.dtype))
                    num_p += n * r
            state.p_memory_dict[bucket.index()] = torch.empty(num_p, dtype=torch.float64)
            state.q_memory_dict[bucket.index()] = torch.cat([q.flatten() for q in qs])
        return powersgd.powerSGD_hook(state, bucket)
    return hook


def run(rank, folder):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    found = {f"rank_{power}": train(rank, power) for power in (1, 2, 4)}
    if rank == 0:
        HERE.joinpath("oracle.json").write_text(json.dumps(found, indent=1) + "\n")
    dist.destroy_process_group()


def train(rank, power):
    net = Net()
    model = DistributedDataParallel(net, bucket_cap_mb=100)
    state = powersgd.PowerSGDState(None, matrix_approximation_rank=power, start_powerSGD_iter=START)
    model.register_comm_hook(state, with_initial_q(state, {p: i for i, p in enumerate(net.values)}))
    optimizer = torch.optim.SGD(net.parameters(), lr=RATE)
    mine = slice(rank * ROWS // 2, (rank + 1) * ROWS // 2)
    found = {"loss": [], "gradients": []}
    for step in range(STEPS):
        x, target = made([ROWS, 16, 5, 5], 20 + step)[mine] * 10, made([ROWS, 10], 50 + step)[mine] * 5
        loss = (model(x) - target).square().sum(1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total = loss.detach().clone()
        dist.all_reduce(total)
        found["loss"].append(total.item() / 2)
        found["gradients"].append([{"l2": p.grad.norm().item(), "first": p.grad.flatten()[:6].tolist()}
                                   for p in net.values])
    found["final_l2"] = [p.norm().item() for p in net.values]
    return found


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as store:
        multiprocessing.spawn(run, (store,), nprocs=2)
