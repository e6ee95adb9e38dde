"""Runs the recipes of docs/ranks.md over many small files, and compares what they make.

    python tests/ray/recipes.py OOMSCOPE

Needs Ray, and the program. Each recipe is taken from the document as it stands.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
RANKS = 64
LONG = 37  # the rank that runs another program than the others
CUT = 64  # one file more, of which half is missing


def recipe(language):
    document = (TESTS.parent / "docs" / "ranks.md").read_text()
    return re.search(rf"^```{language}\n(.*?)^```$", document, re.MULTILINE | re.DOTALL).group(1)


def snapshots(folder):
    folder.mkdir()
    fixtures = TESTS / "fixtures"
    for rank in range(RANKS):
        name = "cat_gpt_adamw" if rank == LONG else "cat_lstm"
        shutil.copy(fixtures / f"{name}.pickle.xz", folder / f"rank{rank}.pickle.xz")
    whole = (fixtures / "cat_lstm.pickle.xz").read_bytes()
    (folder / f"rank{CUT}.pickle.xz").write_bytes(whole[: len(whole) // 2])


def with_slurm(folder, script, environment):
    for task in range(RANKS + 3):  # an array may be longer than the list of files
        environment = dict(environment, SLURM_ARRAY_TASK_ID=str(task))
        subprocess.run(["bash", script, folder], env=environment, check=True, stderr=subprocess.DEVNULL)


def with_ray(folder, script, environment):
    subprocess.run([sys.executable, script, folder], env=environment, check=True, stderr=subprocess.DEVNULL)


def compared(program, folder):
    """The comparison of a folder, and the seconds that it took."""
    began = time.monotonic()
    printed = subprocess.run([program, "compare", folder, "--json"], check=True, capture_output=True).stdout
    return json.loads(printed), time.monotonic() - began


def main(program):
    program = Path(program).resolve()
    environment = dict(os.environ, PATH=f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    with tempfile.TemporaryDirectory(prefix="oomscope-ranks-") as scratch:
        scratch = Path(scratch)
        of_files = None
        for name, language, run in [("slurm", "bash", with_slurm), ("ray", "python", with_ray)]:
            folder, script = scratch / name, scratch / f"{name}.script"
            snapshots(folder)
            script.write_text(recipe(language))
            began = time.monotonic()
            run(folder, script, environment)
            made = time.monotonic() - began
            summaries = sorted((folder / "summaries").iterdir())
            assert len(summaries) == RANKS + 1, summaries
            if of_files is None:
                of_files, seconds = compared(program, folder)
                print(f"{RANKS} snapshots compared in {seconds:.2f} s")
            of_summaries, seconds = compared(program, folder / "summaries")
            largest = max(summary.stat().st_size for summary in summaries)
            print(f"{name}: summaries made in {made:.2f} s, the largest {largest // 1024} KiB; compared in {seconds:.2f} s")
            assert len(of_summaries["files"]) == RANKS, len(of_summaries["files"])
            assert [broken["name"] for broken in of_summaries["unreadable"]] == [f"rank{CUT}"]
            assert [outlier["name"] for outlier in of_summaries["overview"]["outliers"]] == [f"rank{LONG}"]
            for key in ["headline", "overview", "difference"]:
                assert of_summaries[key] == of_files[key], key
        print(of_files["headline"])


if __name__ == "__main__":
    main(*sys.argv[1:])
