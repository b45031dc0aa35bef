"""Paths for einsum: optimal against a dynamic programme of this file's own and the shared oracle, executed by NumPy."""

import csv
import itertools
import json
import pathlib
import pickle
import random
import time
import unittest

import tenfold

ROOT = pathlib.Path(__file__).resolve().parents[2]
ORACLE = ROOT.parent / "shared" / "oracles" / "order" / "optimal_flows.csv"

try:
    import numpy
except ImportError:
    numpy = None
try:
    import opt_einsum
except ImportError:
    opt_einsum = None
try:
    import cotengra
except ImportError:
    cotengra = None

needs_numpy = unittest.skipUnless(numpy, "SKIPPED: NumPy is absent")


def product(indices, sizes):
    result = 1
    for index in indices:
        result *= sizes[index]
    return result


class Counted:
    """Costs by their definition (tensor/network.h), and the least of them over every tree, by subsets."""

    def __init__(self, subscripts, sizes):
        left, self.output = subscripts.split("->")
        self.terms, self.sizes = left.split(","), sizes

    def open(self, members):
        if len(members) == 1:
            return set(self.terms[min(members)])
        outside = set(self.output).union(*(self.terms[k] for k in range(len(self.terms)) if k not in members))
        return set().union(*(self.terms[k] for k in members)) & outside

    def path(self, pairs):
        """Multiply-adds and the largest intermediate of a path."""
        left, macs, largest = [frozenset([k]) for k in range(len(self.terms))], 0, 0
        for i, j in pairs:
            a, b = left[i], left[j]
            macs += product(self.open(a) | self.open(b), self.sizes)
            left = [s for k, s in enumerate(left) if k not in (i, j)] + [a | b]
            largest = max(largest, product(self.open(a | b), self.sizes))
        assert len(left) == 1
        return macs, largest

    def least(self):
        best = {frozenset([k]): 0 for k in range(len(self.terms))}
        for count in range(2, len(self.terms) + 1):
            for chosen in itertools.combinations(range(len(self.terms)), count):
                whole = frozenset(chosen)
                best[whole] = min(
                    best[part] + best[whole - part] + product(self.open(part) | self.open(whole - part), self.sizes)
                    for k in range(1, count) for part in map(frozenset, itertools.combinations(chosen, k)))
        return best[frozenset(range(len(self.terms)))]


def drawn(random_, tensors, hyper=True):
    """A network whose indices lie on any number of its terms, some in the output, some on all of them."""
    letters = "abcdefghijkl"[:tensors + 3]
    terms = ["".join(sorted(random_.sample(letters, random_.randint(1, 4)))) for _ in range(tensors)]
    if random_.random() < 0.3:
        terms = ["z" + term for term in terms]
    present = sorted(set("".join(terms)))
    output = "".join(random_.sample(present, random_.randint(0, min(3, len(present)))))
    sizes = {index: random_.randint(1, 5) for index in present}
    return f"{','.join(terms)}->{output}", sizes


def shapes(subscripts, sizes):
    return [tuple(sizes[index] for index in term) for term in subscripts.split("->")[0].split(",")]


CHAIN = "xabcde,fA,fgB,ghC,hiD,ijE,jka,klb,lmc,mnd,ne->xABCDE"


class Paths(unittest.TestCase):
    def test_least_of_every_tree(self):
        random_ = random.Random(29)
        for case in range(60):
            subscripts, sizes = drawn(random_, random_.randint(2, 6))
            counted = Counted(subscripts, sizes)
            found = tenfold.path(subscripts, *shapes(subscripts, sizes))
            with self.subTest(subscripts=subscripts, sizes=sizes):
                self.assertTrue(found.exact)
                self.assertEqual(found.macs, counted.least())
                self.assertEqual(counted.path(found), (found.macs, found.largest_intermediate))

    def test_the_shared_optima(self):
        if not ORACLE.is_file():
            self.skipTest(f"SKIPPED: no {ORACLE}")
        with open(ORACLE) as file:
            rows = list(csv.DictReader(file))
        for row in rows:
            sizes = json.loads(row["sizes(json)"])
            found = tenfold.path(row["einsum"], *shapes(row["einsum"], sizes))
            with self.subTest(name=row["name"]):
                self.assertEqual(found.macs, int(row["opt_flops_multiplies"]))
                self.assertEqual(Counted(row["einsum"], sizes).path(found)[0], found.macs)
        self.assertEqual(len(rows), 23)

    @unittest.skipUnless(opt_einsum, "SKIPPED: opt_einsum is absent")
    def test_optimal_of_opt_einsum(self):
        random_ = random.Random(30)
        for case in range(20):
            subscripts, sizes = drawn(random_, random_.randint(3, 6))
            counted, own = Counted(subscripts, sizes), shapes(subscripts, sizes)
            theirs = opt_einsum.contract_path(subscripts, *own, shapes=True, optimize="optimal")[0]
            if all(len(pair) == 2 for pair in theirs):
                self.assertLessEqual(tenfold.path(subscripts, *own).macs, counted.path(theirs)[0])

    @needs_numpy
    def test_numpy_executes_it(self):
        random_, draw = random.Random(31), numpy.random.default_rng(31)
        for case in range(40):
            subscripts, sizes = drawn(random_, random_.randint(1, 6))
            arrays = [draw.standard_normal(shape) for shape in shapes(subscripts, sizes)]
            dense = numpy.einsum(subscripts, *arrays, optimize=False)
            for objective in ("macs", "size", "time"):
                found = tenfold.path(subscripts, *arrays, objective=objective)
                pairs = list(found)
                for given in (found, ["einsum_path", *found], ["einsum_path"] + found):
                    got = numpy.einsum(subscripts, *arrays, optimize=given)
                    numpy.testing.assert_allclose(got, dense, rtol=1e-9, atol=1e-9)
                self.assertEqual(list(found), pairs)  # NumPy's asking leaves it as it was
                self.assertEqual(found[1:], pairs[1:])
                self.assertEqual(pickle.loads(pickle.dumps(found)), pairs)

    @needs_numpy
    def test_as_it_comes(self):
        """Ellipsis, broadcast, diagonals, no arrow, one operand, scalars."""
        draw = numpy.random.default_rng(32)
        for subscripts, *own in [("...ab,...bc,cd->...ad", (7, 1, 4, 5), (3, 5, 6), (6, 8)),
                                 ("...a,...b->...ab", (3, 4), (3, 5)), ("ab,bc,ca", (3, 4), (4, 5), (5, 3)),
                                 ("ab,bc,cd", (3, 4), (4, 5), (5, 6)), ("...a,ba,cb", (2, 4), (3, 4), (6, 3)),
                                 ("aab,bc,cc->c", (3, 3, 4), (4, 5), (5, 5)), ("ab->ba", (3, 4)),
                                 ("a,,b->ab", (3,), (), (4,)), (" a b , b c -> a c ", (2, 3), (3, 4))]:
            arrays = [draw.standard_normal(shape) for shape in own]
            found = tenfold.path(subscripts, *arrays)
            numpy.testing.assert_allclose(numpy.einsum(subscripts, *arrays, optimize=found),
                                          numpy.einsum(subscripts, *arrays, optimize=False), rtol=1e-9)

    def test_wrong_networks_are_refused(self):
        for subscripts, own, why in [("ab,bc->ac", [(2, 3)], "2 terms, and 1 shapes"),
                                     ("ab,bc->ac", [(2, 3), (4, 5)], "size 4 on term 1 and 3 before"),
                                     ("ab,bc->ac", [(2, 3, 4), (3, 5)], "names 2 indices"),
                                     ("ab,bc->ad", [(2, 3), (3, 5)], "'d' of the output is on no term"),
                                     ("ab,bc->aa", [(2, 3), (3, 5)], "has an index twice"),
                                     ("ab,bc->ac", [(2, 0), (0, 5)], "sizes are at least 1"),
                                     ("ab,b.c->ac", [(2, 3), (3, 1, 5)], "no list of indices"),
                                     ("ab,bc->ac", ["no", (3, 5)], "is no shape"),
                                     ("ab,bc->ac", [(2, 3), (3, 5.5, "x")], "is no shape")]:
            with self.assertRaisesRegex(ValueError, why):
                tenfold.path(subscripts, *own)
        with self.assertRaisesRegex(ValueError, "unknown objective 'mac'"):
            tenfold.path("ab,bc->ac", (2, 3), (3, 4), objective="mac")
        with self.assertRaisesRegex(ValueError, "does not go with --objective time"):
            tenfold.path("ab,bc->ac", (2, 3), (3, 4), objective="time", rates=[1, 1, 1], memory_limit=100)
        with self.assertRaises(tenfold.InputError):
            tenfold.path(",".join(["a"] * 300) + "->a", *[(2,)] * 300)

    def test_memory_limit(self):
        free = tenfold.path(CHAIN, *([(32, 4, 4, 4, 4, 4)] + [(6, 4)] + [(6, 6, 4)] * 8 + [(6, 4)]))
        least = tenfold.path(CHAIN, *([(32, 4, 4, 4, 4, 4)] + [(6, 4)] + [(6, 6, 4)] * 8 + [(6, 4)]), objective="size")
        self.assertLessEqual(least.peak_elements, free.peak_elements)
        self.assertGreaterEqual(least.macs, free.macs)
        bounded = tenfold.path(CHAIN, *([(32, 4, 4, 4, 4, 4)] + [(6, 4)] + [(6, 6, 4)] * 8 + [(6, 4)]),
                               memory_limit=least.peak_elements)
        self.assertEqual(bounded.peak_elements, least.peak_elements)
        with self.assertRaises(MemoryError):
            tenfold.path("ab,bc->ac", (20, 30), (30, 40), memory_limit=100)

    def test_time_limit(self):
        random_ = random.Random(33)
        terms = [[k, (k + 1) % 60, 60 + k // 2, 60 + random_.randrange(30)] for k in range(60)]
        network = tenfold._einsum.Network([dict.fromkeys(term) for term in terms], [],
                                          {k: random_.randint(2, 4) for k in range(90)})
        optimizer = tenfold.Optimizer(seconds=0.3)
        start = time.monotonic()
        found = optimizer([list(dict.fromkeys(term)) for term in terms], [], {k: 2 for k in range(90)})
        self.assertEqual(len(found), 59)
        self.assertFalse(optimizer.last.exact)
        self.assertLess(time.monotonic() - start, 10)
        self.assertEqual(len(network.terms), 60)


class Optimizers(unittest.TestCase):
    def test_the_protocol_of_opt_einsum(self):
        random_ = random.Random(34)
        for case in range(10):
            subscripts, sizes = drawn(random_, 5)
            terms, output = subscripts.split("->")[0].split(","), subscripts.split("->")[1]
            found = tenfold.Optimizer()([frozenset(term) for term in terms], frozenset(output), sizes)
            self.assertEqual(Counted(subscripts, sizes).path(found)[0], Counted(subscripts, sizes).least())
            limited = tenfold.Optimizer()([frozenset(term) for term in terms], frozenset(output), sizes, 40)
            if len(limited[0]) == 2:
                self.assertLessEqual(Counted(subscripts, sizes).path(limited)[1], 40)
            else:
                self.assertEqual(limited, [(0, 1, 2, 3, 4)])

    @unittest.skipUnless(opt_einsum and numpy, "SKIPPED: opt_einsum is absent")
    def test_opt_einsum_takes_it(self):
        a, b, c = (numpy.random.rand(*shape) for shape in ((4, 8), (8, 16), (16, 2)))
        for optimize in (tenfold.Optimizer(), tenfold.path("ab,bc,cd->ad", a, b, c)):
            numpy.testing.assert_allclose(opt_einsum.contract("ab,bc,cd->ad", a, b, c, optimize=optimize), a @ b @ c)

    @unittest.skipUnless(cotengra and numpy, "SKIPPED: cotengra is absent")
    def test_cotengra_takes_it(self):
        a, b, c = (numpy.random.rand(*shape) for shape in ((4, 8), (8, 16), (16, 2)))
        numpy.testing.assert_allclose(cotengra.einsum("ab,bc,cd->ad", a, b, c, optimize=tenfold.Optimizer()), a @ b @ c)


@needs_numpy
class Training(unittest.TestCase):
    def test_gradients(self):
        """Against the derivative of each factor of the dense product: einsum with the factor taken out."""
        draw = numpy.random.default_rng(35)
        for subscripts, *own in [("xab,acp,bpd->xcd", (4, 4, 5), (4, 3, 2), (5, 2, 6)), ("ab,bc->ac", (3, 4), (4, 5)),
                                 ("xabc,dp,peq,qfr,ras,sbt,tc->xdef", (5, 2, 3, 4), (3, 2), (2, 4, 3), (3, 2, 4),
                                  (4, 2, 3), (3, 3, 2), (2, 4))]:
            arrays = [draw.standard_normal(shape) for shape in own]
            left, output = subscripts.split("->")
            terms = left.split(",")
            dense = numpy.einsum(subscripts, *arrays, optimize=True)
            gradient = draw.standard_normal(dense.shape)
            flow = tenfold.training_path(subscripts, *arrays)
            y, dx, parameters = flow.run(arrays[0], arrays[1:], gradient)
            numpy.testing.assert_allclose(y, dense, rtol=1e-9, atol=1e-9)
            for place, got in enumerate([dx, *parameters]):
                rest = [(term, array) for k, (term, array) in enumerate(zip(terms, arrays)) if k != place]
                expected = numpy.einsum(",".join([output, *(term for term, _ in rest)]) + "->" + terms[place], gradient,
                                        *(array for _, array in rest), optimize=True)
                numpy.testing.assert_allclose(got, expected, rtol=1e-8, atol=1e-9)
            executed = sum(product(set(step.subscripts) - set(",->"), flow.network.sizes) for step in flow.steps)
            self.assertEqual(executed, flow.total_macs)
            self.assertGreaterEqual(flow.total_macs, flow.lower_bound)
            self.assertEqual(len(flow.run(arrays[0], arrays[1:])), 1)

    def test_objectives(self):
        own = [(32, 8, 8), (8, 4, 6), (6, 8, 8)]
        flows = {name: tenfold.training_path("xab,acp,pbd->xcd", *own, objective=name) for name in ("macs", "size", "saved")}
        self.assertLessEqual(flows["macs"].total_macs, flows["saved"].total_macs)
        self.assertLessEqual(flows["saved"].saved_elements, flows["macs"].saved_elements)
        self.assertLessEqual(flows["size"].peak_elements, flows["macs"].peak_elements)
        without = tenfold.training_path("xab,acp,pbd->xcd", *own, input_gradient=False)
        self.assertLess(without.total_macs, flows["macs"].total_macs)
        self.assertFalse(any(step.out == "dX" for step in without.steps))
        with self.assertRaises(MemoryError):
            tenfold.training_path("xab,acp,pbd->xcd", *own, memory_limit=10)
        with self.assertRaises(tenfold.InputError):
            tenfold.training_path("xab,acp,pbd->xc", *own)  # d is summed on one term alone


if __name__ == "__main__":
    unittest.main()
