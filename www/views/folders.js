/** Whether what is copied or saved leaves out the folders of files. */
import { withoutFolders } from '#wasm';
import { copyButton } from './copy.js';
import { h } from './dom.js';

const TITLE = 'Copied texts, saved tables, pictures and pages name your files without their folders; of installed packages, the path among them stays.';

/** The choice, one for all that is copied or saved. `leaveOut` is told whether to leave them out. */
export function foldersView(leaveOut) {
  const box = h('input', { type: 'checkbox', 'data-test': 'without-folders', onchange: () => leaveOut(box.checked) });
  return {
    root: h('label', { class: 'folders', title: TITLE }, box, 'Leave out folders'),
    update(state) {
      box.checked = state.withoutFolders;
    },
  };
}

/** A button that copies `file:line`, as an editor opens it, or as the element's choice has it. */
export function copyPlaceButton({ file, line }) {
  const text = (button) => whereText({ file: button.closest('[data-without-folders]') === null ? file : withoutFolders(file), line });
  return copyButton(text, { title: 'Copy file and line', className: 'small' });
}

/** `file:line`. */
export function whereText({ file, line }) {
  return line > 0 ? `${file}:${line}` : file;
}
