"""Trains a small classifier, cuts its matrices with `tenfold ranks`, and prints the table of docs/ranks.md: error of weights, of
what layers put out, and of the task, side by side.

    python3 docs/examples/errors.py build/tenfold
"""
import json
import subprocess
import sys
import tempfile

import numpy
import torch

import cores
import moments

WORDS, WIDTH, WIDE, TOKENS, CLASSES = 96, 48, 192, 10, 12
MODEL = f"""kind: model
name: questions
sequence: {TOKENS}
layers:
  - {{name: words, kind: embedding, vocabulary: {WORDS}, width: {WIDTH}}}
  - {{name: up, kind: linear, outputs: {WIDE}, weight: up}}
  - {{name: active, kind: relu}}
  - {{name: down, kind: linear, outputs: {WIDTH}, weight: down}}
  - {{name: mean, kind: mean}}
  - {{name: head, kind: linear, outputs: {CLASSES}}}
  - {{name: loss, kind: cross-entropy}}
weights:
  up: {{format: tt, m: [{WIDE}], n: [{WIDTH}], rank: 4}}
  down: {{format: tt, m: [{WIDTH}], n: [{WIDE}], rank: 4}}
"""


class Classifier(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.up = torch.nn.Embedding(WORDS, WIDTH), torch.nn.Linear(WIDTH, WIDE)
        self.down, self.head = torch.nn.Linear(WIDE, WIDTH), torch.nn.Linear(WIDTH, CLASSES)

    def forward(self, x):
        return self.head(self.down(torch.relu(self.up(self.words(x)))).mean(1))


def questions(count, generator):
    """Words of a few that are frequent and many that are rare; each pulls towards classes, and the strongest pull is the label."""
    shares = 1 / torch.arange(1, WORDS + 1) ** 0.8
    pull = torch.randn(WORDS, CLASSES, generator=torch.Generator().manual_seed(7)) ** 3
    x = torch.multinomial(shares.expand(count, -1), TOKENS, True, generator=generator)
    return x, pull[x].sum(1).argmax(1)


def accuracy(model, data):
    with torch.no_grad():
        return 100 * (model(data[0]).argmax(1) == data[1]).double().mean().item()


def error(w, v, c=None):
    d = w - v
    return numpy.sqrt((d * d).sum() / (w * w).sum() if c is None else (d @ c * d).sum() / (w @ c * w).sum())


def main(program):
    generator = torch.Generator().manual_seed(1)
    torch.manual_seed(1)
    train, test = questions(20000, generator), questions(4000, generator)
    model = Classifier()
    optimizer = torch.optim.Adam(model.parameters(), 2e-3)
    for step in range(2500):
        some = torch.randint(0, len(train[0]), (256,), generator=generator)
        loss = torch.nn.functional.cross_entropy(model(train[0][some]), train[1][some])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    whole = accuracy(model, test)
    weights = {name: getattr(model, name).weight.detach().double().numpy() for name in ("up", "down")}
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + "/m.yaml", "w", encoding="utf-8") as file:
            file.write(MODEL)
        numpy.savez(folder + "/w.npz", **weights)
        with moments.collect(model) as found:
            model(train[0][:4000])
        found.save(folder + "/c.npz")
        second = found.means()
        print(f"| rank | cut for | weights: up, down | outputs: up, down | accuracy, % (whole {whole:.1f}) |\n|---|---|---|---|---|")
        for rank in (1, 2, 3, 4, 6, 8, 12, 16, 24):
            for aware in ([], ["--covariance", folder + "/c.npz"]):
                told = subprocess.run([program, "ranks", folder + "/m.yaml", "--weights", folder + "/w.npz", "--cap", str(rank),
                                       "--depth", "own", "--minimise", "params", "--max-error", "1", "--json", "--quiet",
                                       "-o", folder + "/out", *aware], check=True, capture_output=True)
                assert json.loads(told.stdout)["fits"]
                parts = cores.load(folder + "/out/cores.npz")
                cut = {name: cores.matrix(parts[name]) for name in weights}
                with torch.no_grad():
                    for name in cut:
                        getattr(model, name).weight.copy_(torch.from_numpy(cut[name]))
                text = [", ".join(f"{error(weights[n], cut[n], c and c[n]):.2f}" for n in cut) for c in (None, second)]
                print(f"| {rank} | {'outputs' if aware else 'weights'} | {text[0]} | {text[1]} | {accuracy(model, test):.1f} |")
                with torch.no_grad():
                    for name in cut:
                        getattr(model, name).weight.copy_(torch.from_numpy(weights[name]))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "tenfold")
