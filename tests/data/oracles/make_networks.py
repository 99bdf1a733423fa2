#!/usr/bin/env python3
"""Writes networks/oracle.json: results of torchvision's networks that tests/unit/nn/NetworkOracle.test.cpp repeats.

    PYTHONPATH=FOLDER_WITH_TORCH_AND_TORCHVISION python3 tests/data/oracles/make_networks.py

Weights would be too large to keep, so both sides compute them. Value e of the tensor at position t of the state
dictionary comes from a number in [-1, 1),

    u(t, e) = 2 * (mix(2^40 * t + e + 2^63) >> 11) / 2^53 - 1,

where mix is the finaliser of splitmix64 (x ^= x >> 30, x *= 0xBF58476D1CE4E5B9, x ^= x >> 27,
x *= 0x94D049BB133111EB, x ^= x >> 31). A tensor of two or four dimensions is sqrt(6 / fan_in) * u with
fan_in = values / size(0); the weight of a normalisation and its running variance are 1 + u / 2; biases and running
means are u / 10; num_batches_tracked is 0. Images [4, 3, 48, 40] are u(2^20, e), the label of row i is (7 * i + 3) mod
10.

Everything is float64 on one thread, without dropout and stochastic depth: logits, mean cross-entropy and the norm of
each parameter's gradient in evaluation and in training mode, three values of each gradient in training (the first, the
middle and the last), and the norm of each running statistic after the training pass. `initial` holds mean, deviation
and largest magnitude of each of torchvision's fresh parameters at 10 classes. `counts` are numbers of parameters.
"""
import json
import pathlib

import numpy
import torch
import torchvision

NETWORKS = ("mobilenet_v2", "resnet18", "resnet50", "efficientnet_b0")
CLASSES, ROWS, HEIGHT, WIDTH = 10, 4, 48, 40


def formula(position, sizes):
    count = int(numpy.prod(sizes, dtype=numpy.int64))
    x = numpy.arange(count, dtype=numpy.uint64) + numpy.uint64(position * 2**40 + 2**63)
    x = (x ^ (x >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
    x = x ^ (x >> numpy.uint64(31))
    unit = (x >> numpy.uint64(11)).astype(numpy.float64) * 2.0**-53
    return torch.from_numpy(2.0 * unit - 1.0).reshape(sizes)


def fill(model):
    for position, (name, tensor) in enumerate(model.state_dict().items()):
        if name.endswith("num_batches_tracked"):
            continue
        u = formula(position, tuple(tensor.shape))
        if tensor.dim() > 1:
            value = u * (6.0 * tensor.shape[0] / tensor.numel()) ** 0.5
        elif name.endswith(("weight", "running_var")):
            value = 1.0 + u / 2
        else:
            value = u / 10
        tensor.copy_(value)


def without_randomness(model):
    for module in model.modules():
        if isinstance(module, (torch.nn.Dropout, torchvision.ops.StochasticDepth)):
            module.p = 0.0


def forward_backward(model, images, labels):
    model.zero_grad()
    logits = model(images)
    loss = torch.nn.functional.cross_entropy(logits, labels)
    loss.backward()
    return {"logits": logits.tolist(), "loss": loss.item(),
            "gradient_l2": [parameter.grad.norm().item() for parameter in model.parameters()]}


def samples(tensor):
    flat = tensor.flatten()
    return [flat[i].item() for i in (0, flat.numel() // 2, flat.numel() - 1)]


def results(name):
    torch.manual_seed(1)
    model = getattr(torchvision.models, name)(num_classes=CLASSES)
    initial = [[p.mean().item(), p.std(correction=0).item(), p.abs().max().item()] for p in model.parameters()]
    without_randomness(model)
    model.double()
    with torch.no_grad():
        fill(model)
    images = formula(2**20, (ROWS, 3, HEIGHT, WIDTH))
    labels = torch.tensor([(7 * i + 3) % CLASSES for i in range(ROWS)])
    evaluated = forward_backward(model.eval(), images, labels)
    trained = forward_backward(model.train(), images, labels)
    trained["gradient_samples"] = [samples(parameter.grad) for parameter in model.parameters()]
    trained["running_l2"] = [tensor.norm().item() for name, tensor in model.state_dict().items() if "running_" in name]
    return {"state": [[key, list(tensor.shape)] for key, tensor in model.state_dict().items()],
            "initial": initial, "evaluate": evaluated, "train": trained}


def num_parameters(name, **options):
    return sum(parameter.numel() for parameter in getattr(torchvision.models, name)(**options).parameters())


def compact(value):
    """JSON with one line for each entry of the inner dictionaries."""
    if isinstance(value, dict):
        return "{\n" + ",\n".join(f"{json.dumps(key)}: {compact(entry)}" for key, entry in value.items()) + "\n}"
    return json.dumps(value, separators=(",", ":"))


def main():
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    oracle = {"about": {"torch": torch.__version__, "torchvision": torchvision.__version__},
              "counts": {name: num_parameters(name) for name in NETWORKS},
              "mobilenet_v2_counts": {str(width): num_parameters("mobilenet_v2", width_mult=width)
                                      for width in (0.25, 0.35, 0.5, 0.75, 1.0, 1.3, 1.4)},
              "networks": {name: results(name) for name in NETWORKS}}
    path = pathlib.Path(__file__).parent / "networks" / "oracle.json"
    path.write_text(compact(oracle) + "\n")


if __name__ == "__main__":
    main()
