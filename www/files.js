/** Files that come together: dropped, or chosen with their folder. */

/**
 * @typedef {object} Given
 * @property {{blob: Blob, path: string}[]} files
 * @property {boolean} areFound whether they were found in a folder, so that some may be none of ours
 */

/**
 * What was dropped. Browsers give it away during the event only, so the call must come then.
 *
 * @param {DataTransfer} transfer
 * @returns {Promise<Given>}
 */
export async function droppedFiles(transfer) {
  const items = [...transfer.items].filter((item) => item.kind === 'file');
  const entries = items.map((item) => item.webkitGetAsEntry?.() ?? null);
  const files = [...transfer.files].map((file) => ({ blob: file, path: file.name }));
  if (!entries.some((entry) => entry?.isDirectory)) {
    return { files, areFound: false };
  }
  const inside = await Promise.all(entries.map((entry) => entry !== null && walk(entry)));
  return { files: inside.filter(Boolean).flat(), areFound: true };
}

/** What was chosen in an input, which may be one for folders. */
export function chosenFiles({ files, webkitdirectory }) {
  return { files: [...files].map((file) => ({ blob: file, path: file.webkitRelativePath || file.name })), areFound: webkitdirectory };
}

async function walk(entry) {
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => {
      entry.file(resolve, reject);
    });
    return [{ blob: file, path: entry.fullPath.replace(/^\//, '') }];
  }
  const reader = entry.createReader();
  const inside = [];
  // A reader answers a hundred or so at a time, and nothing at the end.
  for (;;) {
    const some = await new Promise((resolve, reject) => {
      reader.readEntries(resolve, reject);
    });
    if (some.length === 0) {
      break;
    }
    inside.push(...some);
  }
  return (await Promise.all(inside.map(walk))).flat();
}
