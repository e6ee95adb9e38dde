/** Finds a Chromium or Chrome; run by itself, it prints the path or fails. */
import { accessSync, constants } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

export function findChromium() {
  const folders = ['/usr/bin', ...(process.env.PATH ?? '').split(path.delimiter)];
  const places = NAMES.flatMap((name) => folders.map((folder) => path.join(folder, name)));
  const wanted = process.env.CHROMIUM ? [process.env.CHROMIUM] : places;
  const found = wanted.find(isExecutable);
  if (!found) {
    throw new Error(`no browser at ${wanted.join(', ')}`);
  }
  return found;
}

function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  console.log(findChromium());
}
