#!/usr/bin/env python3
"""The PyTorch peer of multicard's image task: torchvision's MobileNetV2 on Fashion-MNIST, SGD with momentum.

Written as a practised PyTorch user writes it. On CPU ranks: torchrun, gloo, DistributedDataParallel,
DistributedSampler, DataLoader with worker processes (bench/image_cpu.sh installs what it needs and starts it). On one
GPU (bench/gpu_image.sh) without torchrun: the images stay on the GPU and are resized there, so that data never waits.

    python3 -m torch.distributed.run --standalone --nproc-per-node 2 bench/peer_image.py --size 100 --layout nhwc
    python3 bench/peer_image.py --device cuda --resident --size 224 --batch 256 --precision bf16 --compile max-autotune

Rank 0 prints one JSON line: images/s over all ranks (median step after the warm-up; on a GPU between events), the share
of the steps spent waiting for data, the sum of all step times, the largest resident memory of a rank, on a GPU the peak
of allocated memory, and what a step has to move (values that the layers output for an image, parameters).
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
    parser.add_argument("--compile", nargs="?", const="default", help="torch.compile the model, in this mode")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--resident", action="store_true", help="keep all images on the device and resize them there")
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

    def prepared(self, images):
        images = images.float().div_(255.0).sub_(0.2860).div_(0.3530)
        images = torch.nn.functional.interpolate(images, size=(self.size, self.size), mode="bilinear")
        return images.expand(-1, 3, -1, -1)

    def __getitem__(self, index):
        return self.prepared(self.images[index][None])[0], self.labels[index]


def resident_batches(options):
    """Batches of images that lie on the device, in a new order every epoch."""
    dataset = FashionMnist(options.data, options.size, options.limit)
    images, labels = dataset.images.to(options.device), dataset.labels.to(options.device)
    torch.manual_seed(1)
    while True:
        for rows in torch.randperm(len(dataset), device=options.device).split(options.batch):
            if len(rows) == options.batch:
                yield dataset.prepared(images[rows]), labels[rows]


def make_loader(options, rank, ranks):
    dataset = FashionMnist(options.data, options.size, options.limit)
    sampler = torch.utils.data.distributed.DistributedSampler(dataset, num_replicas=ranks, rank=rank, seed=1)
    return torch.utils.data.DataLoader(dataset, batch_size=options.batch, sampler=sampler, num_workers=options.workers,
                                       persistent_workers=options.workers > 0,
                                       prefetch_factor=2 if options.workers > 0 else None)


def make_model(options, ranks):
    torch.manual_seed(1)
    model = torchvision.models.mobilenet_v2(num_classes=10).to(options.device)
    if options.precision == "fp64":
        model = model.double()
    if options.layout == "nhwc":
        model = model.to(memory_format=torch.channels_last)
    if ranks > 1:
        model = torch.nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True)
    return torch.compile(model, mode=options.compile) if options.compile else model


def endless(loader):
    epoch = 0
    while True:
        loader.sampler.set_epoch(epoch)
        yield from loader
        epoch += 1


class Clock:
    """Times between marks: on a GPU those between its passing them, which nothing waits for while it works."""

    def __init__(self, device):
        self.on_gpu = device == "cuda"
        self.marks = []

    def mark(self):
        if self.on_gpu:
            event = torch.cuda.Event(enable_timing=True)
            event.record()
            self.marks.append(event)
        else:
            self.marks.append(time.perf_counter())

    def seconds(self):
        if self.on_gpu:
            torch.cuda.synchronize()
            return [first.elapsed_time(second) * 1e-3 for first, second in zip(self.marks, self.marks[1:])]
        return [second - first for first, second in zip(self.marks, self.marks[1:])]


def train(options, batches, model):
    """Returns the seconds of each step, those of the host waiting for data, and the last loss."""
    memory_format = torch.channels_last if options.layout == "nhwc" else torch.contiguous_format
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=4e-5,
                                fused=True if options.device == "cuda" else None)
    criterion = torch.nn.CrossEntropyLoss()
    clock, wait_seconds = Clock(options.device), []
    model.train()
    clock.mark()
    for _ in range(options.warmup + options.steps):
        start = time.perf_counter()
        images, labels = next(batches)
        wait_seconds.append(time.perf_counter() - start)
        images = images.to(torch.float64 if options.precision == "fp64" else torch.float32)
        images = images.contiguous(memory_format=memory_format)
        if options.compile:
            torch.compiler.cudagraph_mark_step_begin()
        with torch.autocast(options.device, dtype=torch.bfloat16, enabled=options.precision == "bf16"):
            loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        clock.mark()
    return clock.seconds(), wait_seconds, loss.item()


def outputs_of_an_image(size):
    """Values that convolutions and the classifier output for one image."""
    with torch.device("meta"):
        model, image = torchvision.models.mobilenet_v2(num_classes=10).eval(), torch.empty(1, 3, size, size)
    count = 0

    def add(_module, _inputs, output):
        nonlocal count
        count += output.numel()

    for module in model.modules():
        if isinstance(module, (torch.nn.Conv2d, torch.nn.Linear)):
            module.register_forward_hook(add)
    model(image)
    return count


def device_record(options):
    if options.device == "cpu":
        return {"device": "cpu"}
    return {"device": torch.cuda.get_device_name(), "peak_device_bytes": torch.cuda.max_memory_allocated()}


def main():
    options = arguments()
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    if options.device == "cuda":
        torch.backends.cudnn.benchmark = True
        torch.set_float32_matmul_precision("high")
    rank, ranks = 0, 1
    if "RANK" in os.environ:
        torch.distributed.init_process_group("gloo")
        rank, ranks = torch.distributed.get_rank(), torch.distributed.get_world_size()
    model = make_model(options, ranks)
    batches = resident_batches(options) if options.resident else endless(make_loader(options, rank, ranks))
    step_seconds, wait_seconds, loss = train(options, batches, model)

    peak = torch.tensor(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
    if ranks > 1:
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
            "peak_rank_bytes": int(peak), "outputs_of_an_image": outputs_of_an_image(options.size),
            "parameters": sum(parameter.numel() for parameter in model.parameters()), **device_record(options),
        }), flush=True)
    if ranks > 1:
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
