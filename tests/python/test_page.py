"""The Python of docs/python.md and docs/python-einsum.md runs as it stands, page by page."""

import contextlib
import os
import pathlib
import re
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def has(name):
    try:
        __import__(name)
        return True
    except ImportError:
        return False


class Pages(unittest.TestCase):
    def run_page(self, name, blocks_least):
        text = (ROOT / "docs" / name).read_text()
        blocks = re.findall(r"^```python( \w+)?\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        self.assertGreaterEqual(len(blocks), blocks_least)
        for module in ("numpy", "pandas"):
            if not has(module):
                self.skipTest(f"SKIPPED: {module} is absent")
        space = {}
        with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
            stack.callback(os.chdir, os.getcwd())
            os.chdir(folder)
            for needs, block in blocks:
                if needs and not has(needs.strip()):
                    print(f"SKIPPED: {needs.strip()} is absent", end=" ")
                    continue
                exec(compile(block, name, "exec"), space)

    def test_python(self):
        self.run_page("python.md", 4)

    def test_python_einsum(self):
        self.run_page("python-einsum.md", 4)


if __name__ == "__main__":
    unittest.main()
