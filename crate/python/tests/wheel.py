"""Installs a built wheel into a fresh environment and uses it: `python wheel.py dist/oomscope-….whl`."""

import base64
import json
import os
import subprocess
import sys
import tempfile
import unittest
import venv
from pathlib import Path

WHEEL = Path(sys.argv.pop())
FIXTURE = Path(__file__).parents[3] / "tests/fixtures/fragmentation_varlen_default.pickle.xz"
MARKER = '<script type="application/octet-stream" id="oomscope-snapshot" data-name="'


class WheelTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls._where = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls._where.cleanup)
        cls.folder = Path(cls._where.name)
        venv.create(cls.folder / "venv", with_pip=True)
        cls.bin = cls.folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
        cls.run_in([cls.bin / "python", "-m", "pip", "install", "--quiet", "--no-index", WHEEL.resolve()])

    @classmethod
    def run_in(cls, arguments, **kwargs):
        # Neither the source nor what this environment has may stand in for the wheel.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        environment.update(kwargs.pop("env", {}))
        done = subprocess.run(arguments, cwd=cls.folder, env=environment, capture_output=True, text=True, **kwargs)
        if done.returncode != 0:
            raise AssertionError(f"{arguments}: {done.stderr}")
        return done.stdout

    def program(self, *arguments, **kwargs):
        return self.run_in([self.bin / "oomscope", *arguments], **kwargs)

    def python(self, code):
        return self.run_in([self.bin / "python", "-c", code])

    def test_the_program_reports(self):
        report = json.loads(self.program("report", FIXTURE, "--json"))
        self.assertEqual(report["diagnosis"]["cause"], "fragmentation")

    def test_the_program_carries_the_page(self):
        self.program("html", FIXTURE, "-o", "report.html")
        page = (self.folder / "report.html").read_text()
        name = base64.b64encode(FIXTURE.name.encode()).decode()
        # Not assertIn, which would print all of the page.
        self.assertTrue(f'{MARKER}{name}"' in page)
        again = json.loads(self.program("report", "report.html", "--json"))
        self.assertEqual(again["diagnosis"]["cause"], "fragmentation")

    def test_a_snapshot_is_opened(self):
        page = Path(self.program("open", FIXTURE, "--no-browser", env={"TMPDIR": str(self.folder)}).strip())
        self.assertEqual(page.parent, self.folder)
        self.assertTrue(MARKER in page.read_text())

    def test_python_finds_the_program(self):
        asked = self.run_in([self.bin / "python", "-m", "oomscope", "--version"])
        self.assertEqual(asked, self.program("--version"))

    def test_version_and_commit_are_those_of_the_program(self):
        told = self.python("import oomscope; print(f'oomscope {oomscope.__version__} ({oomscope.__commit__})')")
        self.assertEqual(told, self.program("--version"))

    def test_recording_needs_no_torch(self):
        self.assertEqual(self.python("import oomscope\nwith oomscope.record(): print(1)"), "1\n")

    def test_the_package_is_typed(self):
        self.python("from importlib.resources import files; assert (files('oomscope') / 'py.typed').is_file()")


if __name__ == "__main__":
    unittest.main()
