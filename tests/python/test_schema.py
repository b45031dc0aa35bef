"""Answers hold what `tenfold schema` says: every key of theirs is in the schema, and every key that it requires is there."""

import copy
import json
import pathlib
import tempfile
import unittest

import tenfold

ROOT = pathlib.Path(__file__).resolve().parents[2]

try:
    import jsonschema
except ImportError:
    jsonschema = None

# Keys of these are also names of what was asked: quantities of a space, budgets, parameters of a question.
OPEN = {"hardware", "technique", "recommend", "ranks"}


def closed(schema):
    """The same, but no object that it tells of has a key more."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    result = {key: closed(value) for key, value in schema.items()}
    if "properties" in schema and isinstance(schema.get("required"), list):
        result.setdefault("additionalProperties", False)
    return result


def numbers_without_unit(schema, path=""):
    """Properties that are numbers and say no unit."""
    for key, value in schema.get("properties", {}).items():
        for kind in value.get("anyOf", [value]):
            if {"integer", "number"} & set(kind.get("type", [])) and len(kind["type"]) < 5 and "unit" not in kind:
                yield f"{path}.{key}"
            yield from numbers_without_unit(kind, f"{path}.{key}")
            if isinstance(kind.get("items"), dict):
                yield from numbers_without_unit(kind["items"], f"{path}.{key}[]")


class Validator:
    """What of JSON Schema these files use, where python3-jsonschema is absent."""

    KINDS = {"string": str, "boolean": bool, "object": dict, "array": list, "null": type(None)}

    def is_kind(self, value, kind):
        if kind == "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        if kind == "number":
            return isinstance(value, (int, float)) and not isinstance(value, bool)
        return isinstance(value, self.KINDS[kind])

    def errors(self, value, schema, path=""):
        kinds = schema.get("type", [])
        if kinds and not any(self.is_kind(value, kind) for kind in ([kinds] if isinstance(kinds, str) else kinds)):
            yield f"{path} is no {kinds}"
        if "const" in schema and value != schema["const"]:
            yield f"{path} is not {schema['const']}"
        if "anyOf" in schema:
            told = [list(self.errors(value, one, path)) for one in schema["anyOf"]]
            if all(told):
                yield from min(told, key=len)
        if isinstance(value, dict):
            properties, more = schema.get("properties", {}), schema.get("additionalProperties", True)
            yield from (f"{path}.{key} is missing" for key in schema.get("required", []) if key not in value)
            for key, item in value.items():
                if key in properties:
                    yield from self.errors(item, properties[key], f"{path}.{key}")
                elif more is False:
                    yield f"{path}.{key} is in no schema"
                elif isinstance(more, dict):
                    yield from self.errors(item, more, f"{path}.{key}")
        if isinstance(value, list) and isinstance(schema.get("items"), dict):
            for place, item in enumerate(value):
                yield from self.errors(item, schema["items"], f"{path}[{place}]")


class Schemas(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.folder.name)
        cls.swept = folder / "small"
        tenfold.ask("sweep", ROOT / "tests/space/data/small.yaml", out=cls.swept, progress=False)
        tenfold.ask("schema", out=folder / "schemas")
        cls.schemas = {file.stem: json.loads(file.read_text()) for file in (folder / "schemas").glob("*.json")}

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def check(self, command, *arguments, part=None, **options):
        name = f"{command}.{part}" if part else command
        answer = tenfold.ask(command, *([part] if part else []), *arguments, progress=False, **options)
        self.assertEqual(next(iter(answer)), "schema")
        self.assertEqual(answer["schema"], f"tenfold.{name}/1")
        schema = self.schemas[name]
        strict = schema if command in OPEN else closed(copy.deepcopy(schema))
        wrong = list(Validator().errors(answer, strict))
        self.assertEqual(wrong[:5], [], f"{name} {arguments} {options}")
        if jsonschema:
            jsonschema.Draft202012Validator(schema).validate(answer)
        broken = {key: value for key, value in answer.items() if key != "schema"}
        self.assertTrue(list(Validator().errors(broken, schema)))

    def test_files_are_schemas(self):
        self.assertGreater(len(self.schemas), 30)
        for name, schema in self.schemas.items():
            self.assertEqual(schema["$id"], f"tenfold.{name}/1")
            self.assertEqual([key for one in schema["anyOf"] for key in numbers_without_unit(one)], [], name)
            if jsonschema:
                jsonschema.Draft202012Validator.check_schema(schema)
        if not jsonschema:
            print("SKIPPED: jsonschema is absent; schemas were read by a small reader of this file alone")

    def test_prices(self):
        self.check("cost", "atis-2enc")
        self.check("cost", "atis-2enc", device="u50", set={"build.rows": 16, "build.columns": 8})
        self.check("cost", "atis-2enc", device="pynq-z2")  # does not fit
        self.check("cost", self.swept, point=tenfold.Sweep(self.swept).summary["knee"])
        self.check("compare", "atis-2enc", fpga="u50", gpu="rtx3090")
        self.check("roofline", device="h200", dtype="fp32", m=32, n=768, k=768)
        self.check("roofline", device="h200", batch=ROOT / "docs/examples/products.csv")
        self.check("roofline", "atis-2enc", part="step", device="h200")

    def test_flows(self):
        layer = "tt:m=4x4,n=4x4,rank=2,tokens=8"
        self.check("order", layer=layer)
        self.check("order", layer=layer, training=True)
        self.check("order", layer="tt:m=4,n=4,rank=2,tokens=8", all=True)
        self.check("order", einsum="ab,bc,cd->ad", sizes={"a": 4, "b": 5, "c": 6, "d": 7}, objective="time",
                   rates=[1e9, 1e9, 1e-6], alone=True)
        self.check("validate", "atis-2enc")

    def test_sweeps(self):
        self.check("sweep", ROOT / "tests/space/data/small.yaml", out=self.swept.with_name("again"))
        self.check("sweep", "atis-2enc-u50", dry_run=True)
        self.check("query", self.swept, "dsp < 3000", limit=3)
        self.check("recommend", self.swept)
        self.check("report", self.swept, out=self.swept.with_name("report.html"))
        self.check("export", self.swept, point=tenfold.Sweep(self.swept).summary["knee"], out=self.swept.with_name("out"))
        self.check("compare", self.swept, self.swept.with_name("again"))
        self.check("slurm", ROOT / "tests/space/data/small.yaml", out=self.swept.with_name("jobs"), tasks=2)

    def test_questions(self):
        self.check("hardware", "memory", width=32, depth=1152)
        self.check("technique", "procrustes", tiles=[10, 2, 8, 4])
        for what in ("models", "devices", "spaces", "flows", "formats", "techniques", "gpus"):
            self.check("list", what)
        self.check("doctor")
        self.check("completion", "bash")
        self.check("schema", "cost")

    def test_weights_and_training(self):
        self.check("ranks", matrix=ROOT / "docs/examples/w.npy", fold="m=4x4x4,n=4x4x4", format="tt", cap=[2, 4])
        self.check("ranks", table=ROOT / "docs/examples/candidates.csv", budget="params=20000")
        self.check("train", "atis-2enc", data="none", steps=1)
        self.check("train", generate=self.swept.with_name("questions"), sentences=20)
        self.check("finetune", ROOT / "docs/examples/measured.csv", part="fit", law="best")
        self.check("finetune", "mixtral-8x7b", part="count", sequence=128)


if __name__ == "__main__":
    unittest.main()
