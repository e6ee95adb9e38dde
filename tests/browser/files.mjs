/** Snapshots and near-snapshots for the tests, written by Python's own pickle where one is needed. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after } from 'node:test';
import { DIST, FIXTURE, ROOT } from './harness.mjs';

/** A folder that goes away after the tests of the file that calls this. */
export function temporaryFolder() {
  const folder = mkdtempSync(path.join(tmpdir(), 'oomscope-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/**
 * What the program prints. It is built as `cargo test` has built it, together with the suites: alone it would have other
 * features of its dependencies, and all would be compiled once more.
 */
export function terminal(...args) {
  const run = (command, ...rest) => execFileSync(command, rest, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'], maxBuffer: 2 ** 28 });
  run('cargo', 'build', '--quiet', '--locked', '--bin', 'oomscope', '--test', 'suites');
  return run(path.resolve(ROOT, process.env.CARGO_TARGET_DIR ?? 'target', 'debug/oomscope'), ...args);
}

/** What `oomscope report --json` writes of a snapshot. */
export function summaryOf(snapshot, file) {
  writeFileSync(file, terminal('report', snapshot, '--json'));
  return file;
}

function python(program, ...args) {
  execFileSync('python3', ['-c', program, ...args], { stdio: ['ignore', 'ignore', 'inherit'] });
}

export function textFile(folder) {
  const file = path.join(folder, 'notes.pickle');
  writeFileSync(file, 'Step 400: loss 2.31, see attached screenshot.\n'.repeat(20));
  return file;
}

/** The sample of the page, which takes a moment to read. */
export function unpackedSample(folder) {
  const file = path.join(folder, 'sample.pickle');
  const program = 'import lzma, sys; open(sys.argv[2], "wb").write(lzma.open(sys.argv[1]).read())';
  python(program, path.join(DIST, 'site/samples/leak.pickle.xz'), file);
  return file;
}

/** A real snapshot whose copying was cut short. */
export function cutPickle(folder) {
  const file = path.join(folder, 'cut.pickle');
  const program = `
import lzma, sys
data = lzma.open(sys.argv[1]).read()
open(sys.argv[2], "wb").write(data[: len(data) * 2 // 3])`;
  python(program, FIXTURE, file);
  return file;
}

export const HOSTILE_NAME = '</script><img src=x onerror="document.title=`owned`">';

/** A small recording, with no fault but that its frames are called `HOSTILE_NAME`. */
export function hostileNames(folder) {
  const file = path.join(folder, 'names.pickle');
  const program = `
import pickle, sys
name = sys.argv[1]
MIB = 1 << 20
frames = [{"name": name, "filename": f"/home/me/{name}.py", "line": 7}]
base = 0x7F0000000000
def entry(action, addr, size, time_us):
    return {"action": action, "addr": addr, "size": size, "stream": 0, "time_us": time_us, "frames": frames}
trace = [entry("segment_alloc", base, 20 * MIB, 1)]
blocks = []
for i in range(5):
    trace.append(entry("alloc", base + i * 4 * MIB, 4 * MIB, 2 + i))
    blocks.append({"address": base + i * 4 * MIB, "size": 4 * MIB, "requested_size": 4 * MIB,
                   "state": "active_allocated", "frames": frames})
segment = {"device": 0, "address": base, "total_size": 20 * MIB, "allocated_size": 20 * MIB,
           "active_size": 20 * MIB, "requested_size": 20 * MIB, "stream": 0, "segment_type": "large",
           "segment_pool_id": (0, 0), "is_expandable": False, "frames": frames, "blocks": blocks}
settings = {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1, "garbage_collection_threshold": 0.0,
            "expandable_segments": False, "pinned_num_register_threads": 1,
            "release_lock_on_cudamalloc": False, "pinned_use_cuda_host_register": False,
            "roundup_power2_divisions": {}}
note = {"device": 0, "name": name, "stage": "START", "time_us": 2}
snapshot = {"segments": [segment], "device_traces": [trace], "allocator_settings": settings,
            "external_annotations": [note, dict(note, stage="END", time_us=6)]}
pickle.dump(snapshot, open(sys.argv[2], "wb"))`;
  python(program, HOSTILE_NAME, file);
  return file;
}
