"""`oomscope.record`, against what each version of PyTorch takes. Run with `python -m unittest`."""

import os
import sys
import tempfile
import unittest
import warnings
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).parents[1]))

import oomscope
from oomscope import _record
from fake_torch import FakeTorch, OutOfMemoryError

ENABLED = {"enabled": "all", "context": "all", "stacks": "python", "max_entries": 200_000}


class RecordTest(unittest.TestCase):
    def setUp(self):
        self._where = tempfile.TemporaryDirectory()
        self.folder = Path(self._where.name)
        self.addCleanup(self._where.cleanup)
        patch = mock.patch.multiple(_record, _is_observing=False, _is_ours=False)
        patch.start()
        self.addCleanup(patch.stop)
        alone = {name: value for name, value in os.environ.items() if name not in ("RANK", "LOCAL_RANK")}
        for patch in (mock.patch.dict(os.environ, alone, clear=True), mock.patch.object(_record._torch, "say")):
            patch.start()
            self.addCleanup(patch.stop)

    def tearDown(self):
        self.assertEqual(_record._under_way, [])

    def use(self, torch):
        patch = mock.patch.dict(sys.modules, {"torch": torch})
        patch.start()
        self.addCleanup(patch.stop)
        return torch

    def record(self, **kwargs):
        return oomscope.record(self.folder / "run.pickle", **kwargs)

    def written(self):
        return sorted(file.name for file in self.folder.iterdir())

    def test_each_version_is_asked_in_its_own_words(self):
        legacy = {"enabled": True, "record_context": True, "trace_alloc_max_entries": 200_000, "trace_alloc_record_context": True, "_enable_expensive_cpp": False}
        for version, begun, ended in [
            ("1.13.1", {"enabled": True}, {"enabled": False}),
            ("2.0.1", legacy, {"enabled": False}),
            ("2.1.2", ENABLED, {"enabled": None}),
            ("2.7.0", ENABLED, {"enabled": None}),
            ("2.8.0a0+git1", ENABLED, {"enabled": None}),
            ("2.11.0+cu130", ENABLED, {"enabled": None}),
            ("2.13.0", ENABLED, {"enabled": None}),
            ("2.15.0", ENABLED, {"enabled": None}),
        ]:
            with self.subTest(version):
                torch = self.use(FakeTorch(version))
                with self.record() as recording:
                    pass
                self.assertEqual(torch.recorded(), [begun, ended])
                self.assertEqual(recording.files, [str(self.folder / "run.pickle")])
                self.assertEqual(self.written(), ["run.pickle"])

    def test_the_arguments_are_passed_on(self):
        torch = self.use(FakeTorch())
        with self.record(stacks="all", max_entries=7):
            pass
        self.assertEqual(torch.recorded()[0], {**ENABLED, "stacks": "all", "max_entries": 7})
        with self.assertRaises(ValueError):
            oomscope.record(stacks="c++")
        with self.assertRaises(ValueError):
            oomscope.record(max_entries=0)

    def test_a_failure_is_written_when_it_happens_and_passes_through(self):
        torch = self.use(FakeTorch())
        with self.assertRaises(OutOfMemoryError):
            with self.record():
                try:
                    torch.run_out()
                finally:
                    self.assertEqual(self.written(), ["run-oom.pickle"])
        self.assertEqual(self.written(), ["run-oom.pickle"])

    def test_a_wrapped_failure_is_the_same_failure(self):
        torch = self.use(FakeTorch())
        with self.assertRaises(ValueError):
            with self.record():
                try:
                    torch.run_out()
                except OutOfMemoryError as error:
                    raise ValueError("the batch is too large") from error
        self.assertEqual(self.written(), ["run-oom.pickle"])

    def test_a_program_that_goes_on_after_a_failure_is_written_at_its_end_too(self):
        torch = self.use(FakeTorch())
        with self.record():
            for _ in range(3):
                with self.assertRaises(OutOfMemoryError):
                    torch.run_out()
        dumps = [Path(file).name for what, file in torch.calls if what == "dump"]
        self.assertEqual(dumps, ["run-oom.pickle.part", "run.pickle.part"])

    def test_where_failures_are_not_observed_the_end_is_written(self):
        torch = self.use(FakeTorch("2.1.0"))
        with self.assertRaises(OutOfMemoryError):
            with self.record():
                torch.run_out()
        self.assertEqual(self.written(), ["run.pickle"])

    def test_another_exception_passes_through_and_the_end_is_written(self):
        self.use(FakeTorch())
        with self.assertRaises(KeyboardInterrupt):
            with self.record():
                raise KeyboardInterrupt
        self.assertEqual(self.written(), ["run.pickle"])

    def test_what_fails_of_the_recording_is_a_warning(self):
        for what, files in [("record", []), ("dump", []), ("attach", ["run.pickle"])]:
            for policy in ("always", "error"):
                with self.subTest(what, policy=policy), tempfile.TemporaryDirectory() as folder:
                    torch = self.use(FakeTorch())
                    torch.fails_to.add(what)
                    _record._is_observing = False
                    with warnings.catch_warnings(record=True) as told:
                        warnings.simplefilter(policy)
                        with self.assertRaises(OutOfMemoryError):
                            with oomscope.record(Path(folder) / "run.pickle"):
                                torch.run_out()
                    self.assertEqual(os.listdir(folder), files)
                    if policy == "always":
                        self.assertTrue(any(f"cannot {what}" in str(each.message) for each in told))
                    _record._is_ours = False

    def test_an_old_file_stays_where_the_new_one_cannot_be_written(self):
        torch = self.use(FakeTorch())
        old = self.folder / "run.pickle"
        old.write_bytes(b"old")
        torch.fails_to.add("dump")
        with self.assertWarns(RuntimeWarning):
            with self.record():
                pass
        self.assertEqual((self.written(), old.read_bytes()), (["run.pickle"], b"old"))

    def test_nothing_is_done_before_cuda_is_initialised(self):
        torch = self.use(FakeTorch(is_initialised=False))
        with self.record():
            self.assertEqual(torch.calls, [])
            torch.initialise()
            self.assertEqual(torch.recorded(), [ENABLED])
        self.assertEqual(self.written(), ["run.pickle"])

    def test_a_program_that_never_uses_cuda_writes_nothing(self):
        torch = self.use(FakeTorch(is_initialised=False))
        with self.record() as recording:
            pass
        torch.initialise()
        self.assertEqual((torch.calls, recording.files, self.written()), ([], [], []))

    def test_without_cuda_or_without_torch_nothing_happens(self):
        for torch in (FakeTorch(cuda=None), None):
            self.use(torch)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                with self.assertRaises(ZeroDivisionError):
                    with self.record():
                        1 / 0
            self.assertEqual(self.written(), [])

    def test_a_decorated_function_records_each_call(self):
        torch = self.use(FakeTorch())

        @self.record()
        def train(value):
            return value

        self.assertEqual([train(1), train(2)], [1, 2])
        self.assertEqual(len([what for what, _ in torch.calls if what == "dump"]), 2)
        self.assertEqual(train.__name__, "train")

    def test_a_recording_inside_another_neither_restarts_nor_ends_it(self):
        torch = self.use(FakeTorch())
        with self.record():
            with oomscope.record(self.folder / "inner.pickle"):
                pass
            self.assertEqual(torch.recorded(), [ENABLED])
        self.assertEqual(len(torch.recorded()), 2)
        self.assertEqual(self.written(), ["inner.pickle", "run.pickle"])

    def test_the_programs_own_recording_is_left_alone(self):
        torch = self.use(FakeTorch())
        torch.cuda.memory._record_memory_history(max_entries=5, enabled="all")
        with self.record():
            pass
        self.assertEqual(torch.recorded(), [{"enabled": "all", "max_entries": 5}])
        self.assertEqual(self.written(), ["run.pickle"])

    def test_the_rank_is_in_the_name(self):
        self.use(FakeTorch())
        for environment, name in [
            ({"RANK": "13", "LOCAL_RANK": "5"}, "run-rank13.pickle"),
            ({"LOCAL_RANK": "5"}, "run-rank5.pickle"),
            ({"RANK": ""}, "run.pickle"),
        ]:
            with mock.patch.dict(os.environ, environment):
                with self.record() as recording:
                    pass
            self.assertEqual([Path(file).name for file in recording.files], [name])

    def test_a_folder_gets_a_file_and_is_made(self):
        self.use(FakeTorch())
        with oomscope.record(f"{self.folder}/new/folder/") as recording:
            pass
        self.assertEqual(recording.files, [f"{self.folder}/new/folder/oomscope.pickle"])
        with oomscope.record(self.folder) as recording:
            pass
        self.assertEqual(recording.files, [str(self.folder / "oomscope.pickle")])


if __name__ == "__main__":
    unittest.main()
