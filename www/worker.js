/**
 * Owns the session: bytes come in, everything large stays here. It never draws.
 *
 * The first message is `{module}`, the compiled wasm. All others are `{id, kind, …}` and are
 * answered by `{id, ok: true, value}` or `{id, ok: false, error}`, with `{id, progress: [done,
 * total]}` before that while a file is read.
 */
import { compareRuns, initSync, runOf, Session, version, withoutFoldersPacked } from '#wasm';
import { piecesOf } from './pieces.js';

let session = null;

/** Whether the module said what is wrong with it: a panic does, an allocation that fails does not. */
let hasSpoken = false;
const { error: speak } = console;
console.error = (...words) => {
  hasSpoken = true;
  speak(...words);
};

function answer({ id, kind, ...request }) {
  switch (kind) {
    case 'version':
      return version();
    case 'open':
      return open(request.blob, request.name, telling(id));
    case 'timeline':
      return session.timeline(request);
    case 'entry':
      return session.entry(request.device, request.entry);
    case 'allocation':
      return session.allocation(request.device, request.allocation);
    case 'range':
      return session.range(request.device, request.begin, request.end);
    case 'stop':
      return session.stop(request.device, request.entry, request.forward);
    case 'blocks':
      return session.blocks(request.device, request.entry, request.widthPx);
    case 'blockAt':
      return session.blockAt(request.row, request.xPx);
    case 'settings':
      return session.settings(request.device, request.question);
    case 'stacks':
      return session.stacks(request.device, request.selection, request.shape, request.root, request.widthPx);
    case 'stackNode':
      return session.stackNode(request.node, request.nodes);
    case 'allocations':
      return session.allocations(request.device, request.selection, request.question);
    case 'allocationRows':
      return session.allocationRows(request.from, request.to);
    case 'allocationsCsv':
      return session.allocationsCsv(request.hasFolders);
    case 'steps':
      return session.steps(request.device, request.columns);
    case 'stepRows':
      return session.stepRows(request.from, request.to);
    case 'complete':
      return session.complete(request.device, request.text);
    case 'overlay':
      return session.overlay(request.device, request.place ?? undefined);
    case 'runOf':
      return runOf(request.blob, request.name, request.isFound, request.capacities, telling(id));
    case 'compare':
      return compareRuns(request.runs, request.unreadable);
    case 'withoutFolders':
      return withoutFoldersPacked(request.blob);
    case 'text':
      return session.text(request.hasFolders);
    case 'markdown':
      return session.markdown(request.hasFolders);
    default:
      throw { kind: 'Internal', message: `The analyzer knows no request named “${kind}”.` };
  }
}

/** Tells how far a file is read, in steps that can be seen: a large one comes in thousands of pieces. */
function telling(id) {
  let told = -1;
  return (done, total) => {
    const percent = Math.floor((100 * done) / total);
    if (percent !== told) {
      told = percent;
      postMessage({ id, progress: [done, total] });
    }
  };
}

/** A plain pickle is read while its next pieces are fetched; of a packed one there is little to fetch. */
async function open(blob, name, onProgress) {
  if (session.begin(blob, name)) {
    let done = 0;
    for await (const piece of piecesOf(blob)) {
      if (!session.feed(piece)) {
        break;
      }
      done += piece.length;
      onProgress(done, blob.size);
    }
  }
  return session.finish(onProgress);
}

/** The session's own errors are plain objects; anything else left the instance in an unknown state. */
function isRefusal(error) {
  return typeof error === 'object' && error !== null && !(error instanceof Error) && 'kind' in error;
}

/** Whether it was memory that lacked. Out of bounds or too deep, the module would stop otherwise. */
function isMemoryFull(error) {
  return error instanceof WebAssembly.RuntimeError && /unreachable/.test(error.message) && !hasSpoken;
}

function crash(error) {
  return {
    kind: 'Crashed',
    message: isMemoryFull(error)
      ? 'This snapshot needs more memory than a browser tab can give; read it with the command line, `oomscope report FILE`, which has no such limit.'
      : 'The analyzer stopped on a fault of its own; other files still open, and the message in the browser’s console says where it happened.',
  };
}

/** The columns of a view, or all of a run, are moved to the page, not copied. */
function columnsOf(value) {
  if (ArrayBuffer.isView(value)) {
    return [value.buffer];
  }
  return Object.values(value ?? {}).filter(ArrayBuffer.isView).map((column) => column.buffer);
}

self.onmessage = async ({ data }) => {
  if (data.module) {
    initSync({ module: data.module });
    session = new Session();
    return;
  }
  try {
    const value = await answer(data);
    postMessage({ id: data.id, ok: true, value }, columnsOf(value));
  } catch (error) {
    if (isRefusal(error)) {
      postMessage({ id: data.id, ok: false, error: { ...error } });
      return;
    }
    postMessage({ id: data.id, ok: false, error: crash(error) });
    console.error(error);
  }
};
