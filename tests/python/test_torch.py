"""Tensor-train layers in PyTorch: the dense product's values and gradients, and the predicted work."""

import unittest

try:
    import torch
except ImportError:
    torch = None
else:
    import tenfold
    import tenfold.torch


def differences(ours, theirs):
    return max(((a - b).norm() / b.norm()).item() for a, b in zip(ours, theirs))


def step(function, x, parameters, gradient):
    """Value and gradients."""
    for tensor in (x, *parameters):
        tensor.grad = None
    y = function(x)
    y.backward(gradient)
    return [y.detach(), *(tensor.grad.clone() for tensor in (x, *parameters))]


@unittest.skipUnless(torch, "SKIPPED: PyTorch is absent")
class Layers(unittest.TestCase):
    CASES = [((12, 8, 8), (8, 8, 12), 12, 32), ((32, 24), (24, 32), 16, 128), ((6,), (10,), 4, 7), ((4, 3), (6,), 3, 5),
             ((8, 4, 4, 6), (6, 4, 4, 8), 6, 16)]

    def setUp(self):
        torch.manual_seed(29)
        torch.set_num_threads(1)

    def test_gradients_are_autograds_of_the_dense_product(self):
        for m, n, rank, tokens in self.CASES:
            for dtype, most in ((torch.float32, 1e-6), (torch.float64, 1e-14)):
                layer = tenfold.torch.TTLinear(m, n, rank, tokens=tokens, dtype=dtype)
                x = torch.randn(tokens, layer.in_features, dtype=dtype, requires_grad=True)
                gradient = torch.randn(tokens, layer.out_features, dtype=dtype)
                parameters = [*layer.cores, layer.bias]
                ours = step(layer, x, parameters, gradient)
                if dtype == torch.float32:  # the reference itself in double precision: what is measured is ours
                    exact = tenfold.torch.TTLinear(m, n, rank, dtype=torch.float64)
                    exact.load_state_dict(layer.state_dict())
                    wide = x.detach().double().requires_grad_()
                    theirs = step(lambda v: v @ exact.weight().T + exact.bias, wide, [*exact.cores, exact.bias],
                                  gradient.double())
                else:
                    theirs = step(lambda v: v @ layer.weight().T + layer.bias, x, parameters, gradient)
                with self.subTest(m=m, n=n, dtype=dtype):
                    self.assertLess(differences(ours, theirs), most)

    def test_any_number_of_rows_and_no_input_gradient(self):
        layer = tenfold.torch.TTLinear((4, 6), (6, 4), 5, tokens=8, dtype=torch.float64)
        for shape in ((24,), (3, 24), (2, 5, 24), (1, 24)):
            x = torch.randn(shape, dtype=torch.float64)
            gradient = torch.randn(shape, dtype=torch.float64)
            layer.zero_grad()
            y = layer(x)
            y.backward(gradient)
            ours = [y.detach(), *(core.grad.clone() for core in layer.cores)]
            layer.zero_grad()
            y = x @ layer.weight().T + layer.bias
            y.backward(gradient)
            self.assertLess(differences(ours, [y.detach(), *(core.grad for core in layer.cores)]), 1e-13)
        with torch.no_grad():
            self.assertEqual(layer(torch.randn(3, 24, dtype=torch.float64)).shape, (3, 24))

    def test_it_trains(self):
        target = torch.randn(24, 2) @ torch.randn(2, 24)
        layer = tenfold.torch.TTLinear((4, 6), (6, 4), 24, tokens=64)
        optimizer = torch.optim.Adam(layer.parameters(), 0.02)
        losses = []
        for _ in range(300):
            x = torch.randn(64, 24)
            loss = ((layer(x) - x @ target.T) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        self.assertLess(losses[-1], 0.05 * losses[0])

    def test_work_is_what_the_flow_says(self):
        layer = tenfold.torch.TTLinear((12, 8, 8), (8, 8, 12), 12)
        flow = layer.flow(32)
        self.assertEqual(flow.forward_macs, 691200)
        sizes = tenfold.torch.Plan(flow).sizes((32, 8, 8, 12))
        self.assertEqual(sum(batch * rows * summed * columns for batch, rows, summed, columns, _ in sizes), flow.total_macs)

    def test_other_networks(self):
        x = torch.randn(6, 4, 5, dtype=torch.float64, requires_grad=True)
        a, b = (torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in ((4, 3, 2, 6), (5, 2, 6, 6)))
        shared = "xab,acpx,bpdx->xcd"  # the row is on every term
        ours = step(lambda v: tenfold.torch.contract(shared, v, a, b), x, [a, b], torch.ones(6, 3, 6, dtype=torch.float64))
        theirs = step(lambda v: torch.einsum(shared, v, a, b), x, [a, b], torch.ones(6, 3, 6, dtype=torch.float64))
        self.assertLess(differences(ours, theirs), 1e-13)

    def test_wrong_layers_are_refused(self):
        for wrong in (lambda: tenfold.torch.TTLinear((4, 0), (4, 4), 2), lambda: tenfold.torch.TTLinear((4,), (4,), 0),
                      lambda: tenfold.torch.TTLinear((4, 4), (4, 4), [2, 2]),
                      lambda: tenfold.torch.TTLinear((4,), (4,), 2)(torch.randn(3, 5))):
            with self.assertRaises(tenfold.InputError):
                wrong()

    def test_einsum_in_pytorchs_own_order(self):
        """PyTorch goes from left to right: the cores of the inputs first, from the last. How long each takes
        bench/time_torch.py says."""
        for m, n, rank, tokens in self.CASES[:2]:
            layer = tenfold.torch.TTLinear(m, n, rank, tokens=tokens)
            x = torch.randn(tokens, layer.in_features, requires_grad=True)
            left, output = layer.subscripts.split("->")
            first, *terms = left.split(",")
            turned = ",".join([first, *reversed(terms)]) + "->" + output

            def einsum(v):
                y = torch.einsum(turned, v.reshape(tokens, *n), *reversed(layer.cores))
                return y.reshape(tokens, -1) + layer.bias

            parameters = [*layer.cores, layer.bias]
            gradient = torch.randn(tokens, layer.out_features)
            self.assertLess(differences(step(layer, x, parameters, gradient), step(einsum, x, parameters, gradient)), 1e-5)


if __name__ == "__main__":
    unittest.main()
