/** The two inputs through which files, or a folder of them, are chosen. */
import { chosenFiles } from './files.js';
import { h } from './views/dom.js';

export class Choosing {
  #onFiles;
  /** The file that those chosen next are compared with. */
  #first = null;

  files = this.#input({ multiple: true, 'data-test': 'file-input' });
  folder = this.#input({ webkitdirectory: true, 'data-test': 'folder-input' });

  /** @param {(given: import('./files.js').Given) => void} onFiles */
  constructor(onFiles) {
    this.#onFiles = onFiles;
  }

  browse() {
    this.#first = null;
    this.files.click();
  }

  browseFolder() {
    this.#first = null;
    this.folder.click();
  }

  /** For files to compare with `first`. */
  browseOthers(first) {
    this.#first = first;
    this.files.click();
  }

  #input(props) {
    const input = h('input', { type: 'file', class: 'unseen', tabindex: '-1', 'aria-hidden': 'true', onchange: () => this.#chosen(input), ...props });
    return input;
  }

  #chosen(input) {
    const { files, areFound } = chosenFiles(input);
    const first = this.#first === null ? [] : [this.#first];
    this.#first = null;
    // The same file may be chosen again.
    input.value = '';
    if (files.length > 0) {
      this.#onFiles({ files: [...first, ...files], areFound });
    }
  }
}
