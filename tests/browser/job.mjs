/**
 * Recordings made up for a test: a small training loop, written as the JSON form of a snapshot. All
 * of it lies in one segment, and no address is used twice, so that nothing but the loop shows.
 */
import { writeFileSync } from 'node:fs';

const MIB = 2 ** 20;
const SEGMENT = 64 * 2 ** 30;

export class Job {
  #entries = [];
  #live = new Map();
  #next;

  /**
   * @param {object} program
   * @param {number} program.base where its memory begins, which differs from process to process
   * @param {number} program.beginUs when it began
   * @param {number} program.activations MiB that a step's first layer makes
   * @param {number} program.kept MiB that each step keeps
   */
  constructor({ base = 0x7f0000000000, beginUs = 1_000_000, activations = 64, kept = 0 } = {}) {
    Object.assign(this, { base, beginUs, activations, kept });
    this.#next = base;
    this.#entry('segment_alloc', base, SEGMENT, []);
    for (const line of [5, 6, 7, 8]) {
      this.#alloc(4, [library('convert', 'torch/nn/modules/module.py'), own('build', line)]);
    }
  }

  steps(count) {
    for (let step = 0; step < count; step += 1) {
      this.#step();
    }
    return this;
  }

  #step() {
    const forward = (line) => [own('forward', line), library('_call_impl', 'torch/nn/modules/module.py'), own('train', 40)];
    const backward = [native('torch::autograd::generated::MmBackward0::apply(std::vector)'), native('torch::autograd::Engine::thread_main()')];
    const optimizer = [library('step', 'torch/optim/sgd.py'), own('train', 42)];
    const batch = this.#alloc(1, [library('get_batch', 'torch/utils/data/loader.py'), own('train', 39)]);
    const first = this.#alloc(this.activations, forward(20));
    const second = this.#alloc(8, forward(22));
    if (this.kept > 0) {
      this.#alloc(this.kept, forward(24));
    }
    const scratch = this.#alloc(2, backward);
    [second, first, scratch].forEach((address) => this.#free(address, backward));
    [this.#alloc(1, optimizer), batch].forEach((address) => this.#free(address, optimizer));
  }

  #alloc(mib, frames) {
    const address = this.#next;
    const size = mib * MIB;
    this.#next += size;
    this.#entry('alloc', address, size, frames);
    this.#live.set(address, { size, frames });
    return address;
  }

  #free(address, frames) {
    const { size } = this.#live.get(address);
    this.#live.delete(address);
    this.#entry('free_requested', address, size, frames);
    this.#entry('free_completed', address, size, frames);
  }

  #entry(action, addr, size, frames) {
    this.#entries.push({ action, addr, size, stream: 0, time_us: this.beginUs + 10 * this.#entries.length, frames });
  }

  /** Writes what a dump at this moment says; answers the file. */
  dump(file) {
    const blocks = [];
    const idle = (address, size) => ({ address, size, requested_size: 0, state: 'inactive', frames: [] });
    let at = this.base;
    let active = 0;
    for (const [address, { size, frames }] of [...this.#live].sort(([a], [b]) => a - b)) {
      if (address > at) {
        blocks.push(idle(at, address - at));
      }
      blocks.push({ address, size, requested_size: size, state: 'active_allocated', frames });
      at = address + size;
      active += size;
    }
    blocks.push(idle(at, this.base + SEGMENT - at));
    const segment = {
      device: 0, address: this.base, total_size: SEGMENT, allocated_size: active, active_size: active, requested_size: active,
      stream: 0, segment_type: 'large', segment_pool_id: [0, 0], is_expandable: false, frames: [], blocks,
    };
    writeFileSync(file, JSON.stringify({ segments: [segment], device_traces: [this.#entries] }));
    return file;
  }
}

function own(name, line) {
  return { name, filename: '/home/me/job/train.py', line };
}

function library(name, file) {
  return { name, filename: `/venv/lib/python3.12/site-packages/${file}`, line: 1 };
}

function native(name) {
  return { name, filename: '??', line: 0 };
}
