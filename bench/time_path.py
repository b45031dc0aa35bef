"""How long a path of eleven operands takes, asked for from Python: the least and the median of many calls.

bench/time_path.py, with TENFOLD_LIBRARY the shared library and python on PYTHONPATH, as the target `bench` runs it."""

import statistics
import time

import tenfold

CALLS = 200
CHAIN = [(32, 4, 4, 4, 4, 4)] + [(6, 4)] + [(6, 6, 4)] * 8 + [(6, 4)]
NETWORKS = {
    "ring": (",".join(f"{chr(97 + i)}{chr(65 + i)}{chr(97 + (i + 1) % 11)}" for i in range(11)) + "->ABC", [(3, 4, 3)] * 11),
    "chain": ("xabcde,fA,fgB,ghC,hiD,ijE,jka,klb,lmc,mnd,ne->xABCDE", CHAIN),
}

for name, (subscripts, shapes) in NETWORKS.items():
    spent = []
    for _ in range(CALLS):
        start = time.perf_counter()
        tenfold.path(subscripts, *shapes)
        spent.append(1e3 * (time.perf_counter() - start))
    print(f"path of a {name} of eleven operands: {min(spent):.3f} ms at least, {statistics.median(spent):.3f} ms in the median "
          f"of {CALLS} calls")
