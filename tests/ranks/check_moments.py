"""Moments that docs/examples/moments.py collects are those of a sum over rows, under the layers' names: run by
tests/ranks/test_loader.c with the folder of the pages and one to write into."""
import sys

import numpy
import torch

sys.path.insert(0, sys.argv[1] + "/examples")
import moments

torch.manual_seed(1)


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.block = torch.nn.ModuleList([torch.nn.Linear(5, 5) for _ in range(2)])
        self.words, self.head, self.unused = torch.nn.Embedding(9, 5), torch.nn.Linear(5, 3), torch.nn.Linear(5, 5)

    def forward(self, x):
        x = self.words(x)
        for layer in self.block:
            x = torch.tanh(layer(x))
        return self.head(x)


path = sys.argv[2] + "/mapped.yaml"
with open(path, "w", encoding="utf-8") as file:
    file.write('checkpoint:\n  tensors:\n    - {layer: "encoder{i}.up", tensor: "block.{i-1}.weight"}\n'
               '    - {layer: "answer", tensor: "head.weight", transpose: true}\n    - {layer: "idle", tensor: "unused.weight"}\n')
network, data = Network(), [torch.randint(0, 9, (4, 6)) for _ in range(3)]
with moments.collect(network, moments.names(path)) as found:
    for batch in data:
        network(batch)
assert found.missing == ["idle"], found.missing
found.save(sys.argv[2] + "/c.npz")
read = numpy.load(sys.argv[2] + "/c.npz")
assert sorted(read) == ["answer", "encoder1.up", "encoder2.up"], sorted(read)
with torch.no_grad():
    rows = network.words(torch.cat(data)).reshape(-1, 5)
    for name, step in (("encoder1.up", 0), ("encoder2.up", 1)):
        expected = sum(numpy.outer(x, x) for x in rows.double().numpy()) / len(rows)
        assert numpy.abs(read[name] - expected).max() < 1e-6, name
        rows = torch.tanh(network.block[step](rows))
with moments.collect(network, diagonal=True) as narrow:
    for batch in data:
        network(batch)
assert numpy.abs(narrow.means()["head"] - numpy.diag(read["answer"])).max() < 1e-12
try:
    moments.Moments().save(sys.argv[2] + "/none.npz")
    raise SystemExit("nothing was saved without an error")
except ValueError:
    print("moments are those of the rows")
