#!/usr/bin/env python3
"""The plain PyTorch peer of multicard's image task: MobileNetV2 on Fashion-MNIST, DistributedDataParallel on CPUs.

Written as a practised PyTorch user writes it: torchrun, gloo, DistributedSampler, DataLoader with worker processes,
torchvision's mobilenet_v2, SGD with momentum. bench/image_cpu.sh installs what it needs and starts it:

    python3 -m torch.distributed.run --standalone --nproc-per-node 2 bench/peer_image.py --size 100 --layout nhwc

Rank 0 prints one JSON line: images/s over all ranks (median step after the warm-up), the share of the steps spent
waiting for data, the sum of all step times and the largest resident memory of a rank.
"""
import argparse
import gzip
import json
import os
import resource
import statistics
import time

import numpy
import torch
import torch.distributed
import torchvision


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="/usr/share/datasets/fashion-mnist", help="folder of the train-*.gz files")
    parser.add_argument("--size", type=int, default=100, help="height and width images are resized to")
    parser.add_argument("--layout", choices=["nchw", "nhwc"], default="nhwc", help="memory format of activations")
    parser.add_argument("--precision", choices=["fp64", "fp32", "bf16"], default="fp32")
    parser.add_argument("--batch", type=int, default=32, help="images of a rank and step")
    parser.add_argument("--steps", type=int, default=20, help="measured steps")
    parser.add_argument("--warmup", type=int, default=5, help="steps before them")
    parser.add_argument("--workers", type=int, default=1, help="loader processes of a rank")
    parser.add_argument("--limit", type=int, default=20000, help="images of the data set")
    parser.add_argument("--compile", action="store_true", help="torch.compile the model")
    return parser.parse_args()


def read_idx(path, header_bytes):
    with gzip.open(path) as file:
        return numpy.frombuffer(file.read()[header_bytes:], dtype=numpy.uint8)


class FashionMnist(torch.utils.data.Dataset):
    """Images of 28 x 28 grey bytes, resized bilinearly, normalised and repeated to three channels."""

    def __init__(self, folder, size, limit):
        images = read_idx(f"{folder}/train-images-idx3-ubyte.gz", 16).reshape(-1, 1, 28, 28)[:limit]
        labels = read_idx(f"{folder}/train-labels-idx1-ubyte.gz", 8)[:limit]
        self.images = torch.from_numpy(images.copy())
        self.labels = torch.from_numpy(labels.astype(numpy.int64))
        self.size = size

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        image = self.images[index].float().div_(255.0).sub_(0.2860).div_(0.3530)
        image = torch.nn.functional.interpolate(image[None], size=(self.size, self.size), mode="bilinear")[0]
        return image.expand(3, -1, -1), self.labels[index]


def make_loader(options, rank, ranks):
    dataset = FashionMnist(options.data, options.size, options.limit)
    sampler = torch.utils.data.distributed.DistributedSampler(dataset, num_replicas=ranks, rank=rank, seed=1)
    return torch.utils.data.DataLoader(dataset, batch_size=options.batch, sampler=sampler, num_workers=options.workers,
                                       persistent_workers=options.workers > 0,
                                       prefetch_factor=2 if options.workers > 0 else None)


def make_model(options):
    torch.manual_seed(1)
    model = torchvision.models.mobilenet_v2(num_classes=10)
    if options.precision == "fp64":
        model = model.double()
    if options.layout == "nhwc":
        model = model.to(memory_format=torch.channels_last)
    model = torch.nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True)
    return torch.compile(model) if options.compile else model


def endless(loader):
    epoch = 0
    while True:
        loader.sampler.set_epoch(epoch)
        yield from loader
        epoch += 1


def train(options, loader, model):
    """Returns the seconds of each step and those of them spent waiting for data."""
    memory_format = torch.channels_last if options.layout == "nhwc" else torch.contiguous_format
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=4e-5)
    criterion = torch.nn.CrossEntropyLoss()
    batches = endless(loader)
    step_seconds, wait_seconds = [], []
    model.train()
    for _ in range(options.warmup + options.steps):
        start = time.perf_counter()
        images, labels = next(batches)
        waited = time.perf_counter() - start
        images = images.to(torch.float64 if options.precision == "fp64" else torch.float32)
        images = images.contiguous(memory_format=memory_format)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=options.precision == "bf16"):
            loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        step_seconds.append(time.perf_counter() - start)
        wait_seconds.append(waited)
    return step_seconds, wait_seconds, loss.item()


def main():
    options = arguments()
    torch.distributed.init_process_group("gloo")
    rank, ranks = torch.distributed.get_rank(), torch.distributed.get_world_size()
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    step_seconds, wait_seconds, loss = train(options, make_loader(options, rank, ranks), make_model(options))

    peak = torch.tensor(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
    torch.distributed.all_reduce(peak, op=torch.distributed.ReduceOp.MAX)
    if rank == 0:
        measured = step_seconds[options.warmup:]
        print(json.dumps({
            "size": options.size, "layout": options.layout, "precision": options.precision, "ranks": ranks,
            "threads": torch.get_num_threads(), "batch": options.batch, "compile": options.compile,
            "torch": torch.__version__,
            "images_per_s": ranks * options.batch / statistics.median(measured),
            "slowest_step_s": max(measured), "data_wait_share": sum(wait_seconds[options.warmup:]) / sum(measured),
            "steps_total_s": sum(step_seconds), "first_step_s": step_seconds[0], "last_loss": loss,
            "peak_rank_bytes": int(peak),
        }), flush=True)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
