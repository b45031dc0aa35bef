"""The package's way to the library, commands as functions, sweeps as objects, errors, progress and Ctrl-C."""

import ctypes.util
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings

import tenfold

ROOT = pathlib.Path(__file__).resolve().parents[2]
SMALL = ROOT / "tests" / "space" / "data" / "small.yaml"

try:
    import numpy
except ImportError:
    numpy = None
try:
    import pandas
except ImportError:
    pandas = None


def python(code, **environment):
    """Another Python with the package on its path; what it printed and said, and its status."""
    clean = {name: value for name, value in os.environ.items() if name != "TENFOLD_LIBRARY"}
    return subprocess.run([sys.executable, "-c", code], env={**clean, **environment}, capture_output=True, text=True,
                          timeout=120)


class Commands(unittest.TestCase):
    def test_cost_is_the_programs_answer(self):
        design = tenfold.cost("atis-2enc", "u50", batch=4, **{"build.rows": 8})
        self.assertEqual(design["schema"], "tenfold.cost/1")
        self.assertEqual(design["batch"], 4)
        program = pathlib.Path(os.environ["TENFOLD_LIBRARY"]).with_name("tenfold")
        printed = subprocess.run([program, "cost", "atis-2enc", "--device", "u50", "--set", "batch=4", "--set",
                                  "build.rows=8", "--json"], capture_output=True, text=True, check=True)
        self.assertEqual(design, json.loads(printed.stdout))
        shown = design._repr_html_()
        self.assertIn("atis-2enc on u50", shown)
        self.assertIn(f"{design['resources']['dsp']['used']:,}", shown)

    def test_keywords_are_options(self):
        flows = tenfold.order(layer="tt:m=4x4,n=4x4,rank=2,tokens=8", training=True, max_live=100000)
        self.assertEqual({flow["name"] for flow in flows["flows"]} & {"dense", "optimal"}, {"dense", "optimal"})
        self.assertEqual(tenfold.technique("procrustes", tiles=[10, 2, 8, 4])["unbalanced"], 10)
        self.assertEqual(tenfold.hardware("memory", width=32, depth=1152)["bram18"], 3)
        self.assertIn("tt", tenfold.list("formats"))
        with self.assertRaisesRegex(tenfold.InputError, "did you mean --max-live"):
            tenfold.order(einsum="ab,bc->ac", sizes={"a": 2, "b": 2, "c": 2}, max_liv=3)
        with self.assertRaisesRegex(tenfold.InputError, "did you mean 'cost'"):
            tenfold.ask("cots")
        with self.assertRaisesRegex(tenfold.InputError, "takes texts, numbers"):
            tenfold.cost(object())

    def test_training_times_steps(self):
        answer = tenfold.train("atis-2enc", steps=1, progress=False)
        self.assertEqual(answer["macs_per_step"]["predicted"], answer["macs_per_step"]["executed"])

    def test_errors_say_where(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "wrong.yaml"
            file.write_text("kind: encoder\nname: wrong\nhiden: 3\n")
            with self.assertRaises(tenfold.InputError) as caught:
                tenfold.cost(file)
            error = caught.exception
            self.assertEqual((error.file, error.line), (str(file), 3))
            self.assertGreaterEqual(error.column, 1)
            self.assertTrue(str(error).startswith(f"{file}:3:{error.column}: "), str(error))
            self.assertIsInstance(error, ValueError)

    @unittest.skipUnless(numpy, "SKIPPED: NumPy is absent")
    def test_arrays_and_numbers_of_numpy(self):
        design = tenfold.cost("atis-2enc", set={"build.rows": numpy.int64(8)})
        self.assertEqual(design, tenfold.cost("atis-2enc", set={"build.rows": 8}))

    @unittest.skipUnless(numpy, "SKIPPED: NumPy is absent")
    def test_ranks_of_a_mapping(self):
        """Weights of BERT's names whose matrices have rank 2: a budget that holds rank 2 loses nothing."""
        draw = numpy.random.default_rng(1)
        weights = {"embeddings.word_embeddings.weight": draw.standard_normal((50, 16)),
                   "embeddings.position_embeddings.weight": draw.standard_normal((12, 16)),
                   "embeddings.token_type_embeddings.weight": draw.standard_normal((2, 16)),
                   "embeddings.LayerNorm.weight": numpy.ones(16), "embeddings.LayerNorm.bias": numpy.zeros(16)}
        shapes = {"attention.self.query": (16, 16), "attention.self.key": (16, 16), "attention.self.value": (16, 16),
                  "attention.output.dense": (16, 16), "intermediate.dense": (64, 16), "output.dense": (16, 64)}
        for name, (m, n) in shapes.items():
            weights[f"encoder.layer.0.{name}.weight"] = draw.standard_normal((m, 2)) @ draw.standard_normal((2, n))
            weights[f"encoder.layer.0.{name}.bias"] = numpy.zeros(m)
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            weights[f"encoder.layer.0.{name}.weight"] = numpy.ones(16)
            weights[f"encoder.layer.0.{name}.bias"] = numpy.zeros(16)
        answer = tenfold.ranks({name: array.astype("float32") for name, array in weights.items()}, "60 %",
                               progress=False)
        self.assertEqual(answer["schema"], "tenfold.ranks/1")
        self.assertLess(answer["relative_error"], 1e-5)
        with self.assertRaisesRegex(tenfold.InputError, "^weights: names none of its 1 arrays"):
            tenfold.ranks({"somewhere": numpy.ones((4, 4))}, "60 %", progress=False)
        with self.assertRaisesRegex(tenfold.InputError, "complex128"):
            tenfold.ranks({"a": numpy.ones(2, complex)}, "60 %")


class Sweeps(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.heard = []
        cls.swept = tenfold.sweep(SMALL, pathlib.Path(cls.folder.name) / "small", threads=1,
                                  progress=lambda *told: cls.heard.append(told))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_front(self):
        front = self.swept.front
        self.assertEqual(len(front), self.swept.summary["front"])
        if pandas:
            self.assertIsInstance(front, pandas.DataFrame)
            rows = (self.swept.folder / "front.csv").read_text().splitlines()
            self.assertEqual(len(rows) - 1, len(front))
            column = rows[0].split(",").index("id")
            self.assertEqual({int(row.split(",")[column]) for row in rows[1:] if '"' not in row} - set(front.index), set())
        else:
            print("SKIPPED: pandas is absent; the front is a list")

    def test_progress_is_heard(self):
        self.assertTrue(self.heard)
        self.assertTrue(all(what == "designs" and 0 <= done <= total for what, done, total in self.heard))

    def test_designs(self):
        rows = self.swept._designs()
        most = sorted(row["dsp"] for row in rows)[len(rows) // 2]
        some = self.swept._designs(f"dsp <= {most}", sort="dsp")
        self.assertEqual([row["dsp"] for row in some], sorted(row["dsp"] for row in rows if row["dsp"] <= most))
        self.assertEqual(len(self.swept._designs(limit=3)), 3)
        self.assertIn(f"{rows[0]['id']:,}", rows._repr_html_())

    def test_design_and_what_if(self):
        row = self.swept._designs()[0]
        design = self.swept.design(row["id"])
        self.assertEqual(design["latency"]["cycles_per_step"], row["cycles_per_step"])
        other = self.swept.design(row["id"], **{"build.vector": 8, "batch": 2})
        self.assertEqual(other["batch"], 2)

    def test_recommend_and_reopen(self):
        again = tenfold.Sweep(self.swept.folder)
        self.assertEqual(again.summary["front"], self.swept.summary["front"])
        self.assertEqual(again.recommend(goal="knee")["design"], self.swept.summary["knee"])
        self.assertIn("small", repr(again))
        self.assertIn("<table>", again._repr_html_())
        with self.assertRaisesRegex(tenfold.InputError, "no folder of a sweep"):
            tenfold.Sweep(self.folder.name)

    @unittest.skipUnless(shutil.which("gnuplot"), "SKIPPED: gnuplot is absent")
    def test_plot(self):
        figures = self.swept.plot("seconds_per_step", "dsp")
        self.assertTrue(figures and all(path.is_file() for path in figures))
        self.assertIn("data:image/png", figures._repr_html_())
        self.assertTrue(self.swept.report(pathlib.Path(self.folder.name) / "report.html").is_file())

    def test_notes_are_warnings(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.swept.plot("seconds_per_step", "dsp", where="dsp < 0")
        self.assertIn("is left to draw", str(caught[0].message))


class Interruptions(unittest.TestCase):
    def test_exceptions_of_progress_end_the_work(self):
        def stop(what, done, total):
            raise RuntimeError("enough")

        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaisesRegex(RuntimeError, "enough"):
                tenfold.sweep(SMALL, folder, threads=1, progress=stop)
            finished = tenfold.sweep(SMALL, folder, threads=1, resume=True, progress=False)
            self.assertEqual(finished.summary["complete"], "exhausted")

    def test_control_c_keeps_what_is_finished(self):
        with tempfile.TemporaryDirectory() as folder:
            code = ("import tenfold, threading, os, signal\n"
                    "threading.Timer(0.7, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
                    "try:\n"
                    f"    tenfold.sweep('atis-2enc-u50', {folder!r}, keep_all=True)\n"
                    "    print('finished')\n"
                    "except KeyboardInterrupt:\n"
                    "    print('stopped')\n"
                    "print(tenfold.hardware('memory', width=32, depth=1152)['bram18'])\n")
            start = time.monotonic()
            ran = python(code, TENFOLD_LIBRARY=os.environ["TENFOLD_LIBRARY"])
            self.assertEqual(ran.stdout.split(), ["stopped", "3"], ran.stderr)
            self.assertLess(time.monotonic() - start, 60)
            self.assertTrue((pathlib.Path(folder) / "sweep.db").is_file())

    def test_threads_ask_at_once(self):
        answers = [None] * 4

        def work(place):
            answers[place] = tenfold.hardware("memory", width=8 << place, depth=1152)["width"]

        threads = [threading.Thread(target=work, args=(place,)) for place in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(answers, [8, 16, 32, 64])


class Library(unittest.TestCase):
    LOAD = "import tenfold\ntry:\n    tenfold.list('formats')\nexcept tenfold.LibraryError as e:\n    print(e)\n"

    def test_missing(self):
        ran = python(self.LOAD, TENFOLD_LIBRARY="/nowhere/libtenfold.so")
        self.assertIn("/nowhere/libtenfold.so can't be loaded", ran.stdout)
        self.assertIn("TENFOLD_LIBRARY", ran.stdout)

    def test_another_library(self):
        ran = python(self.LOAD, TENFOLD_LIBRARY=ctypes.util.find_library("m") or "libm.so.6")
        self.assertIn("is no tenfold library", ran.stdout, ran.stderr)

    @unittest.skipUnless(shutil.which("cc"), "SKIPPED: there is no C compiler to make another version with")
    def test_another_version(self):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "other.c"
            source.write_text('const char *tn_version(void) { return "0.9.3"; }\nint tn_ask_heard(void) { return 0; }\n')
            subprocess.run(["cc", "-shared", "-fPIC", source, "-o", f"{folder}/libtenfold.so"], check=True)
            ran = python(self.LOAD, TENFOLD_LIBRARY=folder)
            self.assertIn("is tenfold 0.9.3, and this package is of version 0.1.0", ran.stdout, ran.stderr)

    def test_beside_the_checkout(self):
        built = ROOT / "build" / "libtenfold.so"
        if not built.is_file():
            self.skipTest("SKIPPED: the source tree has no folder build")
        ran = python("import tenfold; print(tenfold._library.library()._name)")
        self.assertEqual(ran.stdout.strip(), str(built), ran.stderr)

    def test_the_packages_version_is_the_librarys(self):
        library = tenfold._library.library()
        self.assertEqual(library.tn_version().decode(), tenfold.__version__)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    unittest.main()
