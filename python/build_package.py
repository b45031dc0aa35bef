"""Builds the wheel and the sdist of the package `tenfold` (PEP 517, PEP 660) with the standard library alone.

The package holds no compiled code. A wheel that is built inside the source tree remembers that tree, so that what is
installed from a checkout finds the library that was built there.
"""

import base64
import hashlib
import io
import pathlib
import re
import tarfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
VERSION = re.search(r'VERSION = "([^"]+)"', (HERE / "tenfold" / "_library.py").read_text()).group(1)
INFO = f"tenfold-{VERSION}.dist-info"
WHEEL = "Wheel-Version: 1.0\nGenerator: tenfold\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
EPOCH = (1980, 1, 1, 0, 0, 0)


def metadata():
    return f"""Metadata-Version: 2.1
Name: tenfold
Version: {VERSION}
Summary: Tensor-train training on small devices, and contraction paths for einsum
License: Apache-2.0
Requires-Python: >=3.9
Provides-Extra: dataframes
Requires-Dist: pandas; extra == 'dataframes'
Provides-Extra: torch
Requires-Dist: torch; extra == 'torch'
Description-Content-Type: text/markdown

{(HERE / "README.md").read_text()}"""


def sources():
    return sorted(path for path in (HERE / "tenfold").iterdir() if path.suffix == ".py" or path.name == "py.typed")


def checkout():
    """The source tree around this folder; None where this is an sdist by itself."""
    root = HERE.parent
    return root if (root / "src" / "tenfold.h").is_file() else None


def write_wheel(folder, files):
    files[f"{INFO}/METADATA"] = metadata()
    files[f"{INFO}/WHEEL"] = WHEEL
    name, record = f"tenfold-{VERSION}-py3-none-any.whl", []
    with zipfile.ZipFile(pathlib.Path(folder) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, text in files.items():
            data = text.encode()
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{path},sha256={digest},{len(data)}\n")
            wheel.writestr(zipfile.ZipInfo(path, EPOCH), data)
        record.append(f"{INFO}/RECORD,,\n")
        wheel.writestr(zipfile.ZipInfo(f"{INFO}/RECORD", EPOCH), "".join(record))
    return name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    files = {f"tenfold/{path.name}": path.read_text() for path in sources()}
    if checkout():
        files["tenfold/checkout.txt"] = f"{checkout()}\n"
    return write_wheel(wheel_directory, files)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    return write_wheel(wheel_directory, {"tenfold.pth": f"{HERE}\n"})


def build_sdist(sdist_directory, config_settings=None):
    root = f"tenfold-{VERSION}"
    files = {f"tenfold/{path.name}": path.read_text() for path in sources()}
    for name in ("pyproject.toml", "build_package.py", "README.md"):
        files[name] = (HERE / name).read_text()
    files["PKG-INFO"] = metadata()
    with tarfile.open(pathlib.Path(sdist_directory) / f"{root}.tar.gz", "w:gz", format=tarfile.PAX_FORMAT) as sdist:
        for name, text in files.items():
            data = text.encode()
            member = tarfile.TarInfo(f"{root}/{name}")
            member.size = len(data)
            sdist.addfile(member, io.BytesIO(data))
    return f"{root}.tar.gz"
